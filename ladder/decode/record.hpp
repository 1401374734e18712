// SPDX-License-Identifier: Apache-2.0
// The record of a decode rung, from the three functions that the rung writes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ladder/decode/counts.hpp"
#include "ladder/decode/plan.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::decode {

/// What the track makes of a rung's layout, of its reasons against a call and of its form.
template <Layout (&layout_of)(const Call&),
          std::string (&reason)(const Workload&, const Plan&, const Device&),
          Form (&form_of)(const Workload&)>
struct Functions {
    static Plan plan(const Workload& w, const Tile& tile, const Device& device) {
        const Call call = call_of(w);
        return plan_of(layout_of(call), call, tile, device);
    }
    static std::string supports(const Workload& w, const Tile& tile, const Device& device) {
        return reason(w, plan(w, tile, device), device);
    }
    static std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
        return counts_of(form_of(w), w, plan(w, tile, device), device);
    }
    static std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
        return plan(w, tile, device).workspace_bytes;
    }
};

template <class Functions>
constexpr KernelRecord<Tile> record_of(
    std::string_view summary, const Rung& rung,
    Precision (&precision)(const Workload&) = tracks::float_precision,
    std::span<const Tile> its_tiles = tiles) {
    return {.name = std::string_view(),
            .summary = summary,
            .engine = Engine::cuda,
            .tiles = its_tiles,
            .functions = {Functions::supports, Functions::counts, precision, Functions::workspace},
            .rung = &rung};
}

}  // namespace raceline::kernels::decode

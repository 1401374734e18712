// SPDX-License-Identifier: Apache-2.0
// How a call is cut into CTAs: the same answer for the counts and the launch.
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "kernels/prefill_mma/schedule.hpp"
#include "kernels/prefill_mma/tile.hpp"
#include "workload/attention_args.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::prefill_mma {

/// What a workload and the arguments of a launch have in common.
struct Shape {
    std::int64_t batch, heads_q, heads_kv, seqlen_q, seqlen_k, headdim, headdim_v;
    std::int64_t left, right;  ///< causal folded in; negative: unbounded
    [[nodiscard]] std::int64_t group() const { return heads_kv > 0 ? heads_q / heads_kv : 1; }
};
Shape shape_of(const Workload& workload);
Shape shape_of(const AttentionArgs& args);

struct Plan {
    Band band;
    Order order;  ///< items() CTAs; 0: there is no query anywhere
};
/// Lengths at most longest_length, item_count() at most most_items.
Plan make_plan(const Shape& shape, const Tile& tile, const Device& device);

inline constexpr std::int64_t longest_length = 1 << 29;  // sums of two lengths stay in 31 bits
inline constexpr std::int64_t most_items = (std::int64_t{1} << 31) - 1;
std::int64_t item_count(const Shape& shape, const Tile& tile);

}  // namespace raceline::kernels::prefill_mma

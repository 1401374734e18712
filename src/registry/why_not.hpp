// SPDX-License-Identifier: Apache-2.0
// Why an engine does not serve a workload, where several engines ask for the same: clauses as
// `supports` gives them, empty if nothing stands against it.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/plan.hpp"
#include "workload/workload.hpp"

namespace raceline {

/// Of a kernel for any GPU.
inline std::string why_not_cuda(const Device& device) {
    return device.kind == DeviceKind::cuda ? "" : "it needs a CUDA device";
}

/// Of an engine that is compiled for sm_90a alone.
inline std::string why_not_hopper(const Device& device) {
    return device.kind != DeviceKind::cuda || device.compute_capability != 90
               ? "it needs a Hopper GPU (compute capability 9.0)"
               : "";
}

/// Of an engine that multiplies 16-bit operands of one type.
inline std::string why_not_16_bits(const Workload& w) {
    if ((w.dtype != DType::bf16 && w.dtype != DType::fp16) || w.kv_dtype != w.dtype) {
        return std::string("it takes Q, K and V all in bf16 or all in fp16, not ") +
               name_of(w.dtype) + " and " + name_of(w.kv_dtype);
    }
    return {};
}

/// Of an engine that reads K and V as two contiguous tensors, takes the largest product of a row
/// for its largest score, and counts rows and keys in 32 bits.
inline std::string why_not_contiguous(const Workload& w) {
    if (w.page_size > 0) {
        return "it takes keys and values in one piece, not in pages";
    }
    if (w.mla) {
        return "it takes K and V apart, not one latent cache";
    }
    if (!(w.scale_value() > 0)) {
        return "scale " + std::to_string(w.scale_value()) + " is not positive";
    }
    if (w.seqlen_q > schedule::longest_length || w.seqlen_k > schedule::longest_length) {
        return "it counts rows and keys up to 2^29";
    }
    return {};
}

/// Of an engine that numbers tiles of `rows` query rows.
inline std::string why_not_counted(const Workload& w, int rows) {
    return schedule::work_tile_count(problem_of(w), rows) > schedule::most_work_tiles
               ? "it counts tiles of rows in 31 bits"
               : "";
}

/// Head dims of Q and K, and of V.
struct HeadDims {
    std::int64_t qk, v;
    bool operator==(const HeadDims&) const = default;
    [[nodiscard]] std::string text() const {
        return "head dims " + std::to_string(qk) + " and " + std::to_string(v);
    }
};
/// The narrowest pair of head dims among `tiles` that serves a call; zeros if none does. A tile has
/// headdim and headdim_v.
template <class Tiles>
constexpr HeadDims narrowest(const Tiles& tiles, HeadDims asked) {
    HeadDims best{0, 0};
    for (const auto& t : tiles) {
        const bool serves = asked.qk <= t.headdim && asked.v <= t.headdim_v;
        if (serves && (best.qk == 0 || t.headdim + t.headdim_v < best.qk + best.v)) {
            best = {t.headdim, t.headdim_v};
        }
    }
    return best;
}

/// The width of a tile that has one for Q, K and V.
struct HeadDim {
    std::int64_t all;
    bool operator==(const HeadDim&) const = default;
    [[nodiscard]] std::string text() const { return "head dim " + std::to_string(all); }
};

/// Of a tile for head dims that are multiples of `granule`, 16 bytes. `serving`: the widths of the
/// tiles that serve them; zeros if none does, and the widest tiles have 256.
template <class Widths>
std::string why_not_widths(const Workload& w, std::int64_t granule, const Widths& serving,
                           const Widths& of_tile) {
    const HeadDims asked{w.headdim, w.headdim_v};
    if (asked.qk % granule != 0 || asked.v % granule != 0) {
        return asked.text() + " must be multiples of " + std::to_string(granule);
    }
    if (serving == Widths{}) {
        return asked.text() + " are over 256";
    }
    return serving == of_tile ? "" : "tiles of " + serving.text() + " serve " + asked.text();
}
/// Where a tile has a width for Q and K and one for V, in 16 bits.
template <class Tiles, class Tile>
std::string why_not_head_dims(const Workload& w, const Tiles& tiles, const Tile& tile) {
    return why_not_widths(w, 8, narrowest(tiles, {w.headdim, w.headdim_v}),
                          HeadDims{tile.headdim, tile.headdim_v});
}

}  // namespace raceline

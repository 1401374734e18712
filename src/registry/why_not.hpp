// SPDX-License-Identifier: Apache-2.0
// Why an engine does not serve a workload, where several engines ask for the same: clauses as
// `supports` gives them, empty if nothing stands against it.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/plan.hpp"
#include "workload/workload.hpp"

namespace raceline {

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

/// Of a tile for head dims that are multiples of 8, 16 bytes; the widest of `tiles` has 256.
template <class Tiles, class Tile>
std::string why_not_head_dims(const Workload& w, const Tiles& tiles, const Tile& tile) {
    const HeadDims asked{w.headdim, w.headdim_v};
    if (asked.qk % 8 != 0 || asked.v % 8 != 0) {
        return asked.text() + " must be multiples of 8";
    }
    const HeadDims widths = narrowest(tiles, asked);
    if (widths.qk == 0) {
        return asked.text() + " are over 256";
    }
    if (widths != HeadDims{tile.headdim, tile.headdim_v}) {
        return "tiles of " + widths.text() + " serve " + asked.text();
    }
    return {};
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// gqa_wmma's CTAs, for host and device.
#pragma once

#include "ladder/decode/plan.hpp"

namespace raceline::kernels::gqa_wmma {

inline constexpr int most_keys = 192;  ///< of a tile, at head dim 128: two CTAs an SM

/// Halves from row to row of a tile: 16 bytes more, so that the rows of a fragment lie on distinct
/// banks.
constexpr int pitch_of(int headdim) {
    return headdim + 8;
}
/// Keys of a tile: whole blocks of sixteen for each of the four warps.
constexpr int tile_keys(int headdim) {
    return most_keys * pitch_of(128) / pitch_of(headdim) / 64 * 64;
}
inline constexpr int scratch_pitch = 24;  ///< of a warp's 16 x 16 scores and probabilities
inline constexpr int scratch_bytes = 16 * scratch_pitch * 6 + 16 * 4;

/// Warps that together hold the group, sixteen rows each.
constexpr int row_warps_of(std::int64_t group) {
    return group > 16 ? 2 : 1;
}

/// K and V, then the warps' scratch.
constexpr decode::Layout layout_of(const decode::Call& call) {
    return {.cta_rows = call.group(),
            .smem_bytes = std::int64_t{2} * 2 * tile_keys(call.headdim) * pitch_of(call.headdim) +
                          std::int64_t{decode::warps} * scratch_bytes,
            .columns = call.headdim};
}

}  // namespace raceline::kernels::gqa_wmma

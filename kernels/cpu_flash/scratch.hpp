// SPDX-License-Identifier: Apache-2.0
// Where a thread keeps what it works on: offsets, in floats, into its part of the workspace.
#pragma once

#include <algorithm>
#include <cstdint>

namespace raceline::kernels::cpu_flash {

/// Columns of a row of Q, K or V, at most: a latent cache of 512 columns and 64 of rope. What a
/// thread keeps of single rows on its stack is as long.
inline constexpr std::int64_t kHeaddimMost = 576;

/// Query rows side by side in registers, at most; panels are never wider.
inline constexpr std::int64_t kPanelMost = 64;

/// Multiple of a cache line (16 floats).
constexpr std::int64_t whole_lines(std::int64_t floats) {
    return (floats + 15) / 16 * 16;
}

/// Row length, in floats, that spreads a column over all sets of the L1 cache: an odd number of
/// lines. Rows of a power of two of lines would share a few sets and evict each other.
constexpr std::int64_t spread_row(std::int64_t floats) {
    return ((floats + 15) / 16 | 1) * 16;
}

/// All sizes hold for both forms of products: 32-bit floats, or pairs of bf16 in 32 bits.
struct PrefillScratch {
    std::int64_t q, o, s, k, v, peak, sum, first, last, total;
    std::int64_t k_row, v_row;

    constexpr PrefillScratch(std::int64_t rows, std::int64_t keys, std::int64_t headdim,
                             std::int64_t headdim_v) {
        const std::int64_t padded = (rows + kPanelMost - 1) / kPanelMost * kPanelMost;
        std::int64_t at = 0;
        const auto take = [&at](std::int64_t floats) {
            const std::int64_t here = at;
            at += whole_lines(floats);
            return here;
        };
        k_row = spread_row(headdim);
        v_row = spread_row(headdim_v);
        q = take(padded * headdim);
        o = take(padded * headdim_v);
        // Also holds 16 rows of Q or of the output on their way to or from the lanes.
        s = take(std::max(keys * kPanelMost, 16 * whole_lines(std::max(headdim, headdim_v))));
        k = take(keys * k_row);
        v = take(keys * v_row);
        peak = take(padded);
        sum = take(padded);
        first = take(padded);
        last = take(padded);
        total = at;
    }
};

/// Partial result of one piece and head: rows × headdim_v outputs, then a maximum (in powers of
/// two) and a sum a row.
constexpr std::int64_t slot_floats(std::int64_t rows, std::int64_t headdim_v) {
    return whole_lines(rows * (headdim_v + 2));
}

}  // namespace raceline::kernels::cpu_flash

// SPDX-License-Identifier: Apache-2.0
// Where a thread keeps what it works on: offsets, in floats, into its part of the workspace; and
// the workspace, which has such a part a thread and the slots of partial results.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu_flash/plan.hpp"

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

/// All sizes hold for every form of products: 32-bit floats, or pairs of bf16 in 32 bits, whose
/// values stand transposed where tiles are multiplied (tile.hpp has keys enough for that).
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

/// Partial result of one work tile and head: rows × headdim_v outputs, then a maximum (in powers of
/// two) and a sum a row.
constexpr std::int64_t slot_floats(std::int64_t rows, std::int64_t headdim_v) {
    return whole_lines(rows * (headdim_v + 2));
}

/// Keys that a step takes together, each from a range of its own: a thread then reads so many
/// linear streams at once. With one the prefetchers of the hardware reach half of what they reach
/// with four.
inline constexpr std::int64_t kStreams = 4;

/// How far ahead of a load its stream is asked for, in bytes.
inline constexpr std::size_t kAhead = 2048;

inline constexpr std::int64_t kDecodeChunkMost = 1024;

/// Keys of a chunk: K of all of them is read, then V. Long, since every stream starts anew with the
/// chunk; yet the scores of all heads and rows have to stay in the L1 cache or near it.
inline std::int64_t decode_chunk(std::int64_t heads, std::int64_t rows) {
    constexpr std::int64_t scores = 8192;
    return std::clamp<std::int64_t>(scores / std::max<std::int64_t>(1, heads * rows) / 64 * 64, 64,
                                    kDecodeChunkMost);
}

/// Scratch of a decode task, in floats: every K/V head has Q rows, outputs and softmax state, then
/// the scores of a chunk. Rows are whole units of 32 floats, what the widest target takes at once.
struct DecodeScratch {
    std::int64_t q_row, out_row;
    std::int64_t q = 0, out, peak, sum, head_stride;
    std::int64_t wide_row, wide;  ///< kStreams rows of K or V as floats
    std::int64_t scores, total;

    explicit DecodeScratch(const TaskProblem& p) {
        const std::int64_t heads = std::max<std::int64_t>(1, p.heads_kv);
        const std::int64_t rows = std::max<std::int64_t>(1, p.lengths.longest_q * p.group());
        // Whole units of every engine: 64 bytes of the narrowest type are 64 columns.
        q_row = (p.headdim + 63) / 64 * 64;
        out_row = (p.headdim_v + 63) / 64 * 64;
        out = q + rows * q_row;
        peak = out + rows * out_row;
        sum = peak + whole_lines(rows);
        head_stride = sum + whole_lines(rows);
        wide_row = spread_row(std::max(q_row, out_row));
        scores = head_stride * heads;
        // Whatever part of the heads and rows a task has, its chunk is never longer than this; the
        // least chunk of all of them is. Combining keeps one output row here.
        constexpr std::int64_t least = 64;
        wide = scores + whole_lines(std::max({std::int64_t{8192}, heads * rows * least, out_row}));
        total = wide + kStreams * wide_row;
    }
};

/// The workspace, in floats: a scratch area a thread, then the slots of partial results.
struct WorkspaceLayout {
    std::int64_t scratch = 0;
    std::int64_t thread_stride, partials, slot_stride, total;

    WorkspaceLayout(const TaskProblem& p, const Tile& tile, int units) {
        const bool decode = is_decode(p.lengths.longest_q, p.group());
        const std::int64_t used =
            decode ? DecodeScratch(p).total
                   : PrefillScratch(tile.rows, tile.keys, p.headdim, p.headdim_v).total;
        // A page more, so that threads share neither lines nor the sets of their caches.
        thread_stride = (used + 1023) / 1024 * 1024 + 80;
        partials = scratch + thread_stride * units;
        slot_stride = slot_floats(slot_rows(p, tile), p.headdim_v);
        total = partials + slot_stride * most_slots(p, units) + 16;
    }
};

}  // namespace raceline::kernels::cpu_flash

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/scratch.hpp"

namespace raceline::kernels::cpu_flash {

/// Keys that a step takes together, each from a range of its own: a thread then reads so many
/// linear streams at once. With one the prefetchers of the hardware reach half of what memory
/// gives, with four all of it.
inline constexpr std::int64_t kStreams = 4;

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
    std::int64_t scores, total;

    explicit DecodeScratch(const Problem& p) {
        const std::int64_t heads = std::max<std::int64_t>(1, p.heads_kv);
        const std::int64_t rows = std::max<std::int64_t>(1, p.lengths.longest_q * p.group);
        q_row = (p.headdim + 31) / 32 * 32;
        out_row = (p.headdim_v + 31) / 32 * 32;
        out = q + rows * q_row;
        peak = out + rows * out_row;
        sum = peak + whole_lines(rows);
        head_stride = sum + whole_lines(rows);
        scores = head_stride * heads;
        // Whatever part of the heads and rows a task has, its chunk is never longer than this; the
        // least chunk of all of them is. A merge keeps one output row here.
        constexpr std::int64_t least = 64;
        total = scores + std::max({std::int64_t{8192}, heads * rows * least, out_row});
    }
};

}  // namespace raceline::kernels::cpu_flash

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/scratch.hpp"

namespace raceline::kernels::cpu_flash {

/// Keys of a chunk, at most.
inline constexpr std::int64_t kDecodeChunkMost = 256;

/// Keys of a chunk: K and V of one head together fill about two thirds of an L1 cache, since rows
/// that do not fit in registers together pass over them again.
inline std::int64_t decode_chunk(const AttentionArgs& a) {
    const double row = bytes_of(a.kv_dtype) * (a.headdim + a.headdim_v);
    const auto fitting = static_cast<std::int64_t>(32768 / row) / 16 * 16;
    return std::clamp<std::int64_t>(fitting, 16, kDecodeChunkMost);
}

/// Scratch of a decode task, in floats: every K/V head has Q rows, outputs and softmax state;
/// scores are shared. Rows are whole units of 32 floats, what the widest target takes at once.
struct DecodeScratch {
    std::int64_t q_row, out_row;
    std::int64_t q = 0, out, peak, sum, head_stride;
    std::int64_t scores, total;

    explicit DecodeScratch(const Problem& p) {
        const std::int64_t rows = std::max<std::int64_t>(1, p.lengths.longest_q * p.group);
        q_row = (p.headdim + 31) / 32 * 32;
        out_row = (p.headdim_v + 31) / 32 * 32;
        out = q + rows * q_row;
        peak = out + rows * out_row;
        sum = peak + whole_lines(rows);
        head_stride = sum + whole_lines(rows);
        scores = head_stride * std::max<std::int64_t>(1, p.heads_kv);
        // A merge keeps one output row here.
        total = scores + std::max(rows * kDecodeChunkMost, out_row);
    }
};

}  // namespace raceline::kernels::cpu_flash

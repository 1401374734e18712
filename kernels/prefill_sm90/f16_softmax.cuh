// SPDX-License-Identifier: Apache-2.0
// Online softmax on accumulators of scores. A thread has two rows of its warpgroup's 64, each
// shared with the three other threads of its quad.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/half_pairs.cuh"
#include "gpu/tile/schedule.hpp"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::prefill_sm90 {

using namespace hopper;

/// What stays in registers from step to step: references to plain arrays, which the compiler puts
/// there, whereas it keeps a struct of arrays in memory.
template <Tile tile>
struct Accumulators {
    float (&score)[tile.keys / 2];
    float (&out)[tile.headdim_v / 2];
    std::uint32_t (&probability)[tile.keys / 16][4];  ///< of the block whose values come next
    RowState& state;
};

/// Of a thread's columns 8j and 8j + 1, counted in this order, how many lie before `end`, which is
/// relative to the first; at least 0.
__device__ __forceinline__ std::int32_t columns_before(std::int32_t end) {
    return end <= 0 ? 0 : end / 8 * 2 + smaller(end % 8, 2);
}

/// The lowest `count` bits, none below 0 and all from 32 on.
__device__ __forceinline__ std::uint32_t low_bits(std::int32_t count) {
    return count >= 32 ? ~0U : count <= 0 ? 0U : (1U << count) - 1;
}

/// Scores of keys that a row does not see become -inf. `first_row`: query row of the warpgroup's
/// row 0. What a row sees goes into a bit a column first: one instruction then turns seven bits
/// into predicates, where comparing every column with both ends takes two each.
template <Tile tile>
__device__ __forceinline__ void mask_scores(const Band& band, std::int32_t first_row,
                                            std::int32_t first_key, float (&score)[tile.keys / 2]) {
    constexpr int columns = tile.keys / 4;
    const ScorePlace at(first_row, first_key);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::int32_t from = columns_before(band.begin(at.row(i)) - at.origin);
        const std::int32_t to = columns_before(band.end(at.row(i)) - at.origin);
#pragma unroll
        for (int word = 0; word * 32 < columns; ++word) {
            const std::uint32_t seen = low_bits(to - 32 * word) & ~low_bits(from - 32 * word);
#pragma unroll
            for (int bit = 0; bit < 32 && 32 * word + bit < columns; ++bit) {
                const int column = 32 * word + bit;
                float& x = score[fragment_element(column / 2, i, column % 2)];
                x = (seen & (1U << bit)) != 0 ? x : -INFINITY;
            }
        }
    }
}

/// Of how many keys the maximum says little about those to come, and by how many powers of two the
/// base of such rows stands above it. Without that, three of four first warps behind a diagonal
/// had to `lower` their next block, and their warpgroups waited for them
/// (docs/engines/prefill_sm90.md).
inline constexpr std::int32_t few_keys = 16;
inline constexpr float few_keys_margin = 3;

/// Turns scores into probabilities relative to 2^(maximum·scale + margin), in place. Earlier
/// products must then be multiplied by `keep`; `state.sum` already is. `hidden`: some rows may have
/// seen no key so far. `margin`: whole, so that a row's heaviest keys are exact.
template <Tile tile, bool hidden>
__device__ __forceinline__ void exponentiate(float scale_log2, float (&score)[tile.keys / 2],
                                             RowState& state, float (&keep)[2], float margin = 0) {
    float highest[2];
    row_maxima<tile>(score, highest);
    float base[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float before = state.base[i];
        // Rounded, and not fused into an FMA: the step from one base to the next must take both
        // as they are, or every block turns the sums a little: 5e-6 of the LSE after 200 blocks.
        const float now = fmaxf(before, __fmul_rn(highest[i], scale_log2) + margin);
        state.base[i] = now;
        // A row that has seen no key keeps -inf; subtracting 0 instead avoids inf - inf.
        base[i] = hidden && now == -INFINITY ? 0.0F : now;
        keep[i] = ptx::ex2_approx_ftz_f32(before - base[i]);
    }
    float sum[2][2] = {{0, 0}, {0, 0}};  // additions wait for each other
    each_score(score, [&](float& x, int /*j*/, int i, int e) {
        x = ptx::ex2_approx_ftz_f32(fmaf(x, scale_log2, -base[i]));
        sum[i][e] += x;
    });
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        state.sum[i] = fmaf(state.sum[i], keep[i], sum[i][0] + sum[i][1]);
    }
}

/// What a thread's probabilities of one block may add up to, in a row, before
/// `exponentiate_steadily` gives up. At least 1 a key, so that equal scores never exceed it; so
/// high that normal logits hardly ever do (docs/engines/prefill_sm90.md), and as low as accuracy
/// wants it where they are more peaked than that (bench/old_maximum.py).
template <Tile tile>
inline constexpr float steady_limit = static_cast<float>(larger(32, tile.keys / 4));

/// exponentiate_within `steady_limit`. False: `lower` comes next.
template <Tile tile>
__device__ __forceinline__ bool exponentiate_steadily(float scale_log2,
                                                      float (&score)[tile.keys / 2],
                                                      RowState& state) {
    return exponentiate_within<tile>(steady_limit<tile>, scale_log2, score, state);
}

/// What a row may add up to for `lower` to be of use: far from where fp32 ends.
inline constexpr float most_lowered = 0x1p64F;

/// Probabilities relative to an old base that have grown large are taken relative to their rows'
/// maxima instead, as `exponentiate` would have had them; earlier products must then be multiplied
/// by `keep`. That a row's heaviest keys are exactly 1 is what it is for: large or not, they would
/// be rounded like any other. False, in the whole warp, if they are too large: then `state` is as
/// it was, and the block must be multiplied again and go through `exponentiate`.
template <Tile tile>
__device__ __forceinline__ bool lower(float (&probability)[tile.keys / 2], RowState& state,
                                      float (&keep)[2]) {
    float highest[2];
    row_maxima<tile>(probability, highest);
    float sum[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            sum[i] +=
                probability[fragment_element(j, i, 0)] + probability[fragment_element(j, i, 1)];
        }
    }
    // Maxima know nothing of NaN, sums do.
    if (__all_sync(0xFFFFFFFFU, sum[0] <= most_lowered && sum[1] <= most_lowered) == 0) {
        return false;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float now = state.base[i] + ptx::lg2_approx_ftz_f32(fmaxf(highest[i], 1.0F));
        keep[i] = ptx::ex2_approx_ftz_f32(state.base[i] - now);
        state.base[i] = now;
        state.sum[i] = (state.sum[i] + sum[i]) * keep[i];
    }
    scale_rows(probability, keep);
    return true;
}

template <Tile tile, bool bf16>
__device__ __forceinline__ void pack_probabilities(const float (&score)[tile.keys / 2],
                                                   std::uint32_t (&p)[tile.keys / 16][4]) {
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const int from = operand_source(step, w);
            p[step][w] = gpu::packed<bf16>(score[from], score[from + 1]);
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90

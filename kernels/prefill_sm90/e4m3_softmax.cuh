// SPDX-License-Identifier: Apache-2.0
// Online softmax on accumulators of scores. A thread has two rows of its warpgroup's 64, each
// shared with the three other threads of its quad.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/ptx/cvt_e4m3x4.cuh"
#include "gpu/tile/schedule.hpp"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

using namespace hopper;

/// What stays in registers from step to step: references to plain arrays, which the compiler puts
/// there, whereas it keeps a struct of arrays in memory.
template <Tile tile>
struct Accumulators {
    static constexpr bool promotes = tile.promote != 0;
    static constexpr int parts = promotes ? tile.headdim / tile.promoted_columns() : 1;
    static constexpr int values = tile.headdim / 2;
    float (&score)[tile.keys / 2];
    float (&out)[values];
    /// Where the tensor core adds up a block's values: `out` itself, or what is then added to it.
    float (&part)[values / parts];
    std::uint32_t (&probability)[tile.keys / 32][4];  ///< of the block whose values come next
    RowState& state;
};

/// Scores of keys that a row does not see become -inf. `first_row`: query row of the warpgroup's
/// row 0.
template <Tile tile>
__device__ __forceinline__ void mask_scores(const Band& band, std::int32_t first_row,
                                            std::int32_t first_key, float (&score)[tile.keys / 2]) {
    const ScorePlace at(first_row, first_key);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::int32_t from = band.begin(at.row(i)) - at.origin;
        const std::int32_t to = band.end(at.row(i)) - at.origin;
#pragma unroll
        for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                float& x = score[fragment_element(j, i, e)];
                const int column = 8 * j + e;  // relative to the first one: constants
                x = column >= from && column < to ? x : -INFINITY;
            }
        }
    }
}

/// Probabilities stand relative to a power of two that is chosen by what has been seen of their
/// row, and stays until it no longer fits. e4m3 ends at 448 and has normal numbers down to 2^-6.
/// The largest probability is put at 2^5 at most, which leaves 3.8 powers of two for scores to rise
/// by and keeps all bits of what is 2^-11 of it …
inline constexpr float highest_probability = 5;
/// … and lower where many are large: so that a thread's own ones of a row and block add up to this
/// at most, which leaves them as much room below `steady_limit`.
inline constexpr float highest_sum = 128;
/// What they may add up to before `exponentiate_steadily` gives up: none can then be over 448.
inline constexpr float steady_limit = 448;

/// The power of two, 1 or smaller, by which a row's probabilities must be multiplied so that no
/// thread's add up to more than `highest_sum`; known to the whole quad.
__device__ __forceinline__ int lowered_by(float total) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
        total = fmaxf(total, __shfl_xor_sync(0xFFFFFFFFU, total, distance));
    }
    // Exponents of floats: what is over 2^n but not over 2^(n + 1) is lowered by n + 1 - 7.
    const int above = (__float_as_int(total) - 1) >> 23;
    const int most = (__float_as_int(highest_sum) - 1) >> 23;
    return larger(0, above - most);
}

/// Turns scores into probabilities relative to a base that fits them, in place. True, in the whole
/// warp, if a base has moved: earlier products must then be multiplied by `keep`. `state` already
/// has. A row that has seen no key so far may be among them, before and after.
template <Tile tile>
__device__ __forceinline__ bool exponentiate(float scale_log2, float (&score)[tile.keys / 2],
                                             RowState& state, float (&keep)[2]) {
    float highest[2];
    row_maxima<tile>(score, highest);
    float base[2], total[2];
    bool moves = false;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float lowest = fmaf(highest[i], scale_log2, -highest_probability);
        base[i] = fmaxf(state.base[i], lowest);
        // A row that has seen no key keeps -inf; subtracting 0 instead avoids inf - inf.
        const float before = base[i] == -INFINITY ? 0.0F : base[i];
        keep[i] = ptx::ex2_approx_ftz_f32(state.base[i] - before);
        moves = moves || base[i] > state.base[i];
        state.base[i] = base[i];
        base[i] = before;
    }
    exponentiate_relative<tile>(scale_log2, base, score, total);
    if (__any_sync(0xFFFFFFFFU, total[0] > highest_sum || total[1] > highest_sum) != 0) {
        float factor[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int lowered = lowered_by(total[i]);
            factor[i] = __int_as_float((127 - lowered) << 23);
            state.base[i] += static_cast<float>(lowered);
            total[i] *= factor[i];
            keep[i] *= factor[i];
            moves = moves || lowered > 0;
        }
        scale_rows(score, factor);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        state.sum[i] = fmaf(state.sum[i], keep[i], total[i]);
    }
    return __any_sync(0xFFFFFFFFU, moves) != 0;
}

/// exponentiate_within what e4m3 holds. False: `score` is spoilt, and the block must be multiplied
/// again and go through `exponentiate`.
template <Tile tile>
__device__ __forceinline__ bool exponentiate_steadily(float scale_log2,
                                                      float (&score)[tile.keys / 2],
                                                      RowState& state) {
    return exponentiate_within<tile>(steady_limit, scale_log2, score, state);
}

/// For a warpgroup that has no products under way which it may not rescale: probabilities beyond
/// `steady_limit` are multiplied, as they are, by what puts the row's largest one at 2^5, as
/// `exponentiate` has it, and the row's base moves by it. A power of two would do for the range,
/// but then a key that has come late with much of the weight would be rounded by e4m3 in every row,
/// and its value with it. Rows that fit stay as they are. `total`: the sums of the thread's own
/// ones, `keep`: what earlier products must be multiplied by. False, and nothing done, if some are
/// so large that fp32 has no reciprocal of them, or are not numbers.
template <Tile tile>
__device__ __forceinline__ bool move_base(float (&score)[tile.keys / 2], const float (&total)[2],
                                          RowState& state, float (&keep)[2]) {
    constexpr float largest = 0x1p100F;
    if (__all_sync(0xFFFFFFFFU, total[0] <= largest && total[1] <= largest) == 0) {
        return false;
    }
    constexpr float top = 1 << static_cast<int>(highest_probability);
    float highest[2];
    row_maxima<tile>(score, highest);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const bool moves = highest[i] > top;
        const float whole = moves ? top * ptx::rcp_approx_ftz_f32(highest[i]) : 1.0F;
        const float by = moves ? ptx::lg2_approx_ftz_f32(highest[i]) - highest_probability : 0.0F;
        const int lowered = lowered_by(total[i] * whole);
        keep[i] = whole * __int_as_float((127 - lowered) << 23);
        state.base[i] += by + static_cast<float>(lowered);
        state.sum[i] = fmaf(state.sum[i], keep[i], total[i] * keep[i]);
    }
    scale_rows(score, keep);
    return true;
}

template <Tile tile>
__device__ __forceinline__ void pack_probabilities(const float (&score)[tile.keys / 2],
                                                   std::uint32_t (&p)[tile.keys / 32][4]) {
#pragma unroll
    for (int step = 0; step < tile.keys / 32; ++step) {
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            p[step][w] = ptx::cvt_e4m3x4(
                score[operand_source(step, w, 0)], score[operand_source(step, w, 1)],
                score[operand_source(step, w, 2)], score[operand_source(step, w, 3)]);
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

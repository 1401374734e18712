// SPDX-License-Identifier: Apache-2.0
// Online softmax on accumulators of scores. A thread has two rows of its warpgroup's 64, each
// shared with the three other threads of its quad.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/ptx/cvt_e4m3x4.cuh"
#include "gpu/ptx/ex2_approx_ftz_f32.cuh"
#include "kernels/prefill_sm90_fp8/fragment.hpp"
#include "kernels/prefill_sm90_fp8/schedule.hpp"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What a thread keeps of its two rows between blocks. `maximum` is of raw products, `sum` of this
/// thread's own columns only, until the finish.
struct RowState {
    float maximum[2], sum[2];
    __device__ __forceinline__ RowState() : maximum{-INFINITY, -INFINITY}, sum{0, 0} {}
};

/// Rows of a warpgroup and the blocks that need no mask: those whose keys all of them see.
struct WarpgroupRows {
    std::int32_t first;      ///< query row of the warpgroup's row 0
    std::int32_t seen_from;  ///< keys [seen_from, seen_to) are seen by all 64 rows
    std::int32_t seen_to;
    __device__ __forceinline__ WarpgroupRows(const Band& band, std::int32_t first_row)
        : first(first_row), seen_from(band.begin(first_row + 63)), seen_to(band.end(first_row)) {}
    __device__ __forceinline__ bool sees_all(std::int32_t first_key, std::int32_t keys) const {
        return first_key >= seen_from && first_key + keys <= seen_to;
    }
};

/// Scores of keys that a row does not see become -inf.
template <Tile tile>
__device__ __forceinline__ void mask_scores(const Band& band, const WarpgroupRows& rows,
                                            std::int32_t first_key, float (&score)[tile.keys / 2]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
    // Columns of this thread relative to its first one: compared with constants below.
    const std::int32_t origin = first_key + fragment_column(lane, 0, 0);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::int32_t row = rows.first + fragment_row(warp, lane, i);
        const std::int32_t from = band.begin(row) - origin;
        const std::int32_t to = band.end(row) - origin;
#pragma unroll
        for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                float& x = score[fragment_element(j, i, e)];
                const int column = 8 * j + e;
                x = column >= from && column < to ? x : -INFINITY;
            }
        }
    }
}

/// Largest score of each of the thread's rows in this block, known to the whole quad.
template <Tile tile>
__device__ __forceinline__ void row_maxima(const float (&score)[tile.keys / 2],
                                           float (&highest)[2]) {
    // Chains of maxima wait for each other: four at a time keep the pipe filled.
    float chain[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            chain[i][e] = score[fragment_element(0, i, e)];
        }
    }
#pragma unroll
    for (int j = 1; j < tile.keys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                chain[i][e] = fmaxf(chain[i][e], score[fragment_element(j, i, e)]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        highest[i] = fmaxf(chain[i][0], chain[i][1]);
    }
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            highest[i] = fmaxf(highest[i], __shfl_xor_sync(0xFFFFFFFFU, highest[i], distance));
        }
    }
}

/// Probabilities are multiplied by 2^6 before they become e4m3, of which normal numbers go from
/// 2^-6 to 448: down to 2^-12 of the largest they keep all their bits.
inline constexpr float probability_shift = 6;
/// How far, as a power of two, a row's scores may rise above what its sums stand relative to before
/// the sums are brought up to date: as far as e4m3 reaches, 448 being 2^(6 + 2.807).
inline constexpr float rescale_slack = 2.8F;

/// What a row's sums and probabilities stand relative to, as a power of two: the same rounding
/// wherever it is needed, or every block would turn the sums a little.
__device__ __forceinline__ float base_of(float maximum, float scale_log2) {
    return fmaf(maximum, scale_log2, -probability_shift);
}

/// Turns scores into probabilities relative to 2^base, in place. True, in the whole warp, if the
/// maxima have moved: earlier products must then be multiplied by `keep`. `state.sum` already is.
/// `hidden`: some rows may have seen no key so far.
template <Tile tile, bool hidden>
__device__ __forceinline__ bool exponentiate(float scale_log2, float (&score)[tile.keys / 2],
                                             RowState& state, float (&keep)[2]) {
    float highest[2];
    row_maxima<tile>(score, highest);
    const float rise =
        fmaxf(highest[0] - state.maximum[0], highest[1] - state.maximum[1]) * scale_log2;
    const bool moves = __any_sync(0xFFFFFFFFU, rise > rescale_slack) != 0;
    float base[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float before = state.maximum[i];
        const float now = moves ? fmaxf(before, highest[i]) : before;
        // A row that has seen no key keeps -inf; subtracting 0 instead avoids inf - inf.
        base[i] = base_of(hidden && now == -INFINITY ? 0.0F : now, scale_log2);
        keep[i] = ptx::ex2_approx_ftz_f32(base_of(before, scale_log2) - base[i]);
        state.maximum[i] = now;
    }
    float sum[2][2] = {{0, 0}, {0, 0}};  // additions wait for each other
#pragma unroll
    for (int j = 0; j < tile.keys / 8; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                float& x = score[fragment_element(j, i, e)];
                x = ptx::ex2_approx_ftz_f32(fmaf(x, scale_log2, -base[i]));
                sum[i][e] += x;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        state.sum[i] = fmaf(state.sum[i], keep[i], sum[i][0] + sum[i][1]);
    }
    return moves;
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

template <int count>
__device__ __forceinline__ void scale_rows(float (&out)[count], const float (&factor)[2]) {
#pragma unroll
    for (int j = 0; j < count / 4; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            out[fragment_element(j, i, 0)] *= factor[i];
            out[fragment_element(j, i, 1)] *= factor[i];
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

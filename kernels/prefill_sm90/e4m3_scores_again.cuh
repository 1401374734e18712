// SPDX-License-Identifier: Apache-2.0
// Q·Kᵀ once more, by a single warp for its own 16 rows: the way back when scores have been spoilt
// (see exponentiate_steadily). wgmma would need the whole warpgroup, which has gone on.
#pragma once

#include <cstdint>

#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/ptx/special_register.cuh"
#include "kernels/prefill_sm90/e4m3_softmax.cuh"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/fragment.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

using namespace hopper;

/// Sixteen keys against 32 columns of the warp's rows: scores of eights number `group` and the
/// next.
template <Tile tile>
__device__ __forceinline__ void multiply_pair(float (&score)[tile.keys / 2], int group,
                                              const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int at = fragment_element(group + half, 0, 0);
        float d[4] = {score[at], score[at + 1], score[at + 2], score[at + 3]};
        const std::uint32_t columns[2] = {b[2 * half], b[2 * half + 1]};
        ptx::mma_m16n8k32_e4m3(d, a, columns);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            score[at + i] = d[i];
        }
    }
}

/// Where a lane finds its operands: whose row and 16-byte chunk it names to ldmatrix. Q's matrices
/// stand rows first, K's chunks first, as mma's operands want them.
struct OperandPlace {
    int row, row_chunk, key, key_chunk;
    /// Nothing of this is kept in registers from one time to the next.
    __device__ __forceinline__ OperandPlace() {
        const std::uint32_t thread = ptx::tid_x_volatile();
        const int lane = static_cast<int>(thread % 32);
        const int warp = static_cast<int>(thread / 32 % 4);
        row = 16 * warp + lane % 16;
        row_chunk = lane / 16;
        key = lane / 16 * 8 + lane % 8;
        key_chunk = lane / 8 % 2;
    }
};

/// Pairs of eight keys that are multiplied at a time. Each takes registers of its own (Hopper
/// unpacks e4m3 to fp16 for mma.sync), and scores that are not begun take none: with all six pairs
/// of 96 keys at once, head dim 128 had its sums on the stack in every block. The price is Q read
/// once more and a wait for it, where scores have risen.
inline constexpr int pairs_at_a_time = 4;

/// Scores of the pairs [first, end).
template <Tile tile, int first, int end>
__device__ __forceinline__ void multiply_pairs_again(float (&score)[tile.keys / 2], std::uint32_t q,
                                                     std::uint32_t k, const OperandPlace& at) {
#pragma unroll
    for (int i = 8 * first; i < 8 * end; ++i) {
        score[i] = 0;
    }
#pragma unroll 1
    for (int step = 0; step < tile.headdim / 32; ++step) {
        std::uint32_t a[4];
        ptx::ldmatrix_x4(a,
                         q + swizzled_bytes<tile.row_bytes()>(at.row, 2 * step + at.row_chunk, 64));
        // The swizzle repeats after eight rows: pairs of columns are a constant apart.
        const std::uint32_t from =
            k + swizzled_bytes<tile.row_bytes()>(at.key, 2 * step + at.key_chunk, tile.keys);
#pragma unroll
        for (int pair = first; pair < end; ++pair) {
            std::uint32_t b[4];
            ptx::ldmatrix_x4(b, from + pair * (16 * tile.row_bytes()));
            multiply_pair<tile>(score, 2 * pair, a, b);
        }
    }
}

/// `score` is overwritten, in the layout that wgmma's accumulators have: mma.sync's is the same for
/// every eight columns. `q`: the warpgroup's rows in shared memory, `k`: the block's keys.
template <Tile tile, int first = 0>
__device__ __forceinline__ void multiply_scores_again(float (&score)[tile.keys / 2],
                                                      std::uint32_t q, std::uint32_t k) {
    constexpr int pairs = tile.keys / 16;
    constexpr int end = pairs - first < pairs_at_a_time ? pairs : first + pairs_at_a_time;
    multiply_pairs_again<tile, first, end>(score, q, k, OperandPlace());
    if constexpr (end < pairs) {
        multiply_scores_again<tile, end>(score, q, k);
    }
}

/// Largest of the thread's scores of the pairs from `first` on, in steps of 32 keys.
template <Tile tile, int first = 0>
__device__ __forceinline__ void maxima_again(float (&score)[tile.keys / 2], std::uint32_t q,
                                             std::uint32_t k, float (&highest)[2]) {
    multiply_pairs_again<tile, first, first + 2>(score, q, k, OperandPlace());
#pragma unroll
    for (int at = 8 * first; at < 8 * first + 16; ++at) {
        highest[at / 2 % 2] = fmaxf(highest[at / 2 % 2], score[at]);
    }
    ptx::pin_registers(highest);
    if constexpr (first + 2 < tile.keys / 16) {
        maxima_again<tile, first + 2>(score, q, k, highest);
    }
}
/// Probabilities of these pairs relative to `base`, packed, and added to `total`.
template <Tile tile, int first = 0>
__device__ __forceinline__ void probabilities_again(float (&score)[tile.keys / 2], std::uint32_t q,
                                                    std::uint32_t k, float scale_log2,
                                                    const float (&base)[2], float (&total)[2],
                                                    std::uint32_t (&p)[tile.keys / 32][4]) {
    constexpr int step = first / 2;
    multiply_pairs_again<tile, first, first + 2>(score, q, k, OperandPlace());
#pragma unroll
    for (int at = 8 * first; at < 8 * first + 16; ++at) {
        const int i = at / 2 % 2;
        score[at] = ptx::ex2_approx_ftz_f32(fmaf(score[at], scale_log2, -base[i]));
        total[i] += score[at];
    }
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        p[step][w] =
            ptx::cvt_e4m3x4(score[operand_source(step, w, 0)], score[operand_source(step, w, 1)],
                            score[operand_source(step, w, 2)], score[operand_source(step, w, 3)]);
        p[step][w] = ptx::recomputed(p[step][w]);
    }
    if constexpr (first + 2 < tile.keys / 16) {
        probabilities_again<tile, first + 2>(score, q, k, scale_log2, base, total, p);
    }
}

/// A block that fp32 could not hold, from its scores on, 32 keys at a time: there is no room for
/// all of its scores and what mma.sync takes. Twice, first for the rows' maxima. Earlier products
/// must be multiplied by `keep`. It needs scores that rise by 2^119 at once, or are not numbers.
template <Tile tile>
__device__ __forceinline__ void softmax_again(float (&score)[tile.keys / 2], std::uint32_t q,
                                              std::uint32_t k, float scale_log2, RowState& state,
                                              float (&keep)[2],
                                              std::uint32_t (&p)[tile.keys / 32][4]) {
    float highest[2] = {-INFINITY, -INFINITY};
    maxima_again<tile>(score, q, k, highest);
    float base[2];
    float total[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int distance = 1; distance <= 2; distance *= 2) {
            highest[i] = fmaxf(highest[i], __shfl_xor_sync(0xFFFFFFFFU, highest[i], distance));
        }
        base[i] = fmaxf(state.base[i], fmaf(highest[i], scale_log2, -highest_probability));
        const float before = base[i] == -INFINITY ? 0.0F : base[i];
        keep[i] = ptx::ex2_approx_ftz_f32(state.base[i] - before);
        state.base[i] = base[i];
        base[i] = before;
    }
    probabilities_again<tile>(score, q, k, scale_log2, base, total, p);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        state.sum[i] = fmaf(state.sum[i], keep[i], total[i]);
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

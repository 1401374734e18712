// SPDX-License-Identifier: Apache-2.0
// Q·Kᵀ once more, by a single warp for its own 16 rows: the way back when scores have been spoilt
// (see exponentiate_steadily). wgmma would need the whole warpgroup, which has gone on.
#pragma once

#include <cstdint>

#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/ptx/tid_x_volatile.cuh"
#include "kernels/prefill_sm90_fp8/fragment.hpp"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

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

/// Where a lane finds its operands: whose row and 16-byte piece it names to ldmatrix. Q's matrices
/// stand rows first, K's pieces first, as mma's operands want them.
struct OperandPlace {
    int row, row_piece, key, key_piece;
    /// Nothing of this is kept in registers from one time to the next.
    __device__ __forceinline__ OperandPlace() {
        const std::uint32_t thread = ptx::tid_x_volatile();
        const int lane = static_cast<int>(thread % 32);
        const int warp = static_cast<int>(thread / 32 % 4);
        row = 16 * warp + lane % 16;
        row_piece = lane / 16;
        key = lane / 16 * 8 + lane % 8;
        key_piece = lane / 8 % 2;
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
                         q + swizzled_bytes<tile.row_bytes()>(at.row, 2 * step + at.row_piece, 64));
        // The swizzle repeats after eight rows: pairs of columns are a constant apart.
        const std::uint32_t from =
            k + swizzled_bytes<tile.row_bytes()>(at.key, 2 * step + at.key_piece, tile.keys);
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

}  // namespace raceline::kernels::prefill_sm90_fp8

// SPDX-License-Identifier: Apache-2.0
// Q·Kᵀ once more, by a single warp for its own 16 rows: the way back when scores have been spoilt
// (see exponentiate_steadily). wgmma would need the whole warpgroup, which has gone on.
#pragma once

#include <cstdint>

#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/ptx/tid_x_volatile.cuh"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "kernels/prefill_sm90/fragment.hpp"

namespace raceline::kernels::prefill_sm90 {

using namespace hopper;

/// `score` is overwritten, in the layout that wgmma's accumulators have: mma.sync's is the same for
/// every eight columns. `q`: the warpgroup's rows in shared memory, `k`: the block's keys.
template <Tile tile, bool bf16>
__device__ __forceinline__ void multiply_scores_again(float (&score)[tile.keys / 2],
                                                      std::uint32_t q, std::uint32_t k) {
    // Nothing of this is kept in registers from one time to the next.
    const std::uint32_t thread = ptx::tid_x_volatile();
    const int lane = static_cast<int>(thread % 32);
    const int warp = static_cast<int>(thread / 32 % 4);
    // Whose row and 16-byte chunk a lane names to ldmatrix: Q's matrices stand rows first, K's
    // pieces first, as mma's operands want them.
    const int row = 16 * warp + lane % 16;
    const int row_piece = lane / 16;
    const int key = lane / 16 * 8 + lane % 8;
    const int key_piece = lane / 8 % 2;
#pragma unroll
    for (int i = 0; i < tile.keys / 2; ++i) {
        score[i] = 0;
    }
#pragma unroll 1
    for (int step = 0; step < tile.headdim / 16; ++step) {
        std::uint32_t a[4];
        ptx::ldmatrix_x4(a, q + swizzled_bytes(row, 2 * step + row_piece, 64));
        // The swizzle repeats after eight rows: pairs of columns are a constant apart.
        const std::uint32_t from = k + swizzled_bytes(key, 2 * step + key_piece, tile.keys);
#pragma unroll
        for (int pair = 0; pair < tile.keys / 16; ++pair) {
            std::uint32_t b[4];
            ptx::ldmatrix_x4(b, from + pair * (16 * slab_row_bytes));
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int at = fragment_element(2 * pair + half, 0, 0);
                float d[4] = {score[at], score[at + 1], score[at + 2], score[at + 3]};
                const std::uint32_t columns[2] = {b[2 * half], b[2 * half + 1]};
                if constexpr (bf16) {
                    ptx::mma_m16n8k16_bf16(d, a, columns);
                } else {
                    ptx::mma_m16n8k16_f16(d, a, columns);
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    score[at + i] = d[i];
                }
            }
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90

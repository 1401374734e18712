// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, V's scale, LSE, and stores straight from
// the accumulators, so that the next tile's copies and products need not wait for shared memory.
#pragma once

#include "gpu/ptx/special_register.cuh"
#include "gpu/ptx/st_global_v4_u32.cuh"
#include "gpu/tile/half_pairs.cuh"
#include "kernels/prefill_sm90/e4m3_softmax.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

using namespace hopper;

/// A thread has four neighbouring columns of every sixteen. With the thread beside it, it exchanges
/// two words of one sixteen for two of the next, so that each has eight neighbouring ones.
__device__ __forceinline__ void pair_up(std::uint32_t (&x)[2][2], bool odd) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t given = odd ? x[0][i] : x[1][i];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 1);
        x[0][i] = odd ? taken : x[0][i];
        x[1][i] = odd ? x[1][i] : taken;
    }
}

/// Two rows of outputs from the accumulators to memory, row i to to[i] if exists[i]. `chunked`: in
/// chunks of 16 bytes.
template <Tile tile, bool chunked>
__device__ __forceinline__ void store_rows(const float (&out)[tile.headdim / 2],
                                           const float (&factor)[2], std::uint16_t* const (&to)[2],
                                           const bool (&exists)[2], int lane, int columns) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int two = 0; two < tile.headdim / 32; ++two) {
            std::uint32_t x[2][2];
#pragma unroll
            for (int c = 0; c < 8; c += 2) {
                const float low = out[output_source(2 * two + c / 4, i, c % 4)];
                const float high = out[output_source(2 * two + c / 4, i, c % 4 + 1)];
                x[c / 4][c % 4 / 2] = gpu::packed<true>(low * factor[i], high * factor[i]);
            }
            pair_up(x, lane % 2 != 0);
            const int column = 32 * two + 16 * (lane % 2) + 8 * (lane % 4 / 2);
            const std::uint32_t chunk[4] = {x[0][0], x[0][1], x[1][0], x[1][1]};
            if (!exists[i] || column >= columns) {  // head dims are multiples of 16: all or none
                continue;
            }
            if constexpr (chunked) {
                ptx::st_global_v4_u32(to[i] + column,
                                      make_uint4(chunk[0], chunk[1], chunk[2], chunk[3]));
            } else {
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    to[i][column + e] = static_cast<std::uint16_t>(chunk[e / 2] >> (16 * (e % 2)));
                }
            }
        }
    }
}

/// Outputs and LSE of a thread's rows.
template <Tile tile>
__device__ __forceinline__ void write_rows(const Params& p, const OutputRows& end,
                                           const float (&out)[tile.headdim / 2],
                                           const RowState& state) {
    const AttentionArgs& a = p.args;
    // Read again, so that no place is kept in registers from work tile to work tile.
    const std::uint32_t thread = ptx::tid_x_volatile();
    const int lane = static_cast<int>(thread % 32);
    const int warp = static_cast<int>(thread / 32 % 4);
    const RowEnds ends(a, state, end.head, end.v_scale);
    std::uint16_t* to[2];
    bool exists[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = end.first + fragment_row(warp, lane, i);
        exists[i] = row < end.length;
        to[i] = static_cast<std::uint16_t*>(a.out.data) + end.out + row * a.out.seq_stride;
        if (a.lse != nullptr && exists[i] && lane % 4 == 0) {
            a.lse[end.lse + row * a.lse_seq_stride] = ends.lse[i];
        }
    }
    if (p.chunked_out) {
        store_rows<tile, true>(out, ends.factor, to, exists, lane, a.headdim_v);
    } else {
        store_rows<tile, false>(out, ends.factor, to, exists, lane, a.headdim_v);
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

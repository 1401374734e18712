// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, V's scale, LSE, and stores straight from
// the accumulators, so that the next tile's copies and products need not wait for shared memory.
#pragma once

#include <cstring>
#include <cuda_bf16.h>

#include "gpu/ptx/lg2_approx_ftz_f32.cuh"
#include "gpu/ptx/rcp_approx_ftz_f32.cuh"
#include "gpu/ptx/st_global_v4_u32.cuh"
#include "gpu/ptx/tid_x_volatile.cuh"
#include "kernels/prefill_sm90_fp8/params.cuh"
#include "kernels/prefill_sm90_fp8/softmax.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

inline constexpr float log2_e = 1.4426950408889634F;
inline constexpr float ln_2 = 0.6931471805599453F;

/// Two floats as bf16, the first in the low half.
__device__ __forceinline__ std::uint32_t packed_bf16(float low, float high) {
    std::uint32_t word;
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    static_assert(sizeof(two) == sizeof(word));
    memcpy(&word, &two, sizeof(word));
    return word;
}

/// log2 of a sum of probabilities, to 2^-22. The instruction is that exact around 1 only.
__device__ __forceinline__ float log2_of_sum(float sum) {
    const std::int32_t bits = __float_as_int(sum);
    const std::int32_t exponent = (bits - __float_as_int(0.75F)) >> 23;
    const float mantissa = __int_as_float(bits - (exponent << 23));  // from 0.75 to 1.5
    // The difference is 0, or NaN where the sum is no finite number: that must not be lost.
    return static_cast<float>(exponent) + ptx::lg2_approx_ftz_f32(mantissa) + (sum - sum);
}

__device__ __forceinline__ float lse_without_keys(const Params& p, int head) {
    return p.args.sinks != nullptr ? p.args.sinks[head] : -INFINITY;
}

/// The factors that turn a thread's two rows of accumulators into outputs, and their LSE. A sink
/// adds to the denominator alone; a row without keys has its sink's logit as LSE, or -inf without a
/// sink. No branches: the rows of all warps end at about the same time, and nothing else runs then.
struct RowEnds {
    float factor[2], lse[2];
    __device__ __forceinline__ RowEnds(const Params& p, const RowState& state, int head,
                                       float v_scale) {
        float sum[2], base[2], shrink[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            sum[i] = state.sum[i] + __shfl_xor_sync(0xFFFFFFFFU, state.sum[i], 1);
            sum[i] += __shfl_xor_sync(0xFFFFFFFFU, sum[i], 2);
            base[i] = state.base[i];
            shrink[i] = 1;
        }
        if (p.args.sinks != nullptr) {
            const float sink = p.args.sinks[head] * log2_e;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float both = fmaxf(base[i], sink);
                shrink[i] = exp2f(base[i] - both);
                sum[i] = sum[i] * shrink[i] + exp2f(sink - both);
                base[i] = both;
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            // Maxima skip NaN, the sum does not.
            const bool none = state.base[i] == -INFINITY && sum[i] == sum[i];
            factor[i] = none ? 0 : shrink[i] * ptx::rcp_approx_ftz_f32(sum[i]) * v_scale;
            lse[i] = (base[i] + log2_of_sum(sum[i])) * ln_2;
            lse[i] = none ? lse_without_keys(p, head) : lse[i];
        }
    }
};

/// Where a warpgroup's rows of an item end, as announced.
struct Ending {
    std::int64_t out, lse;  ///< elements from the tensors' starts to the item's first row
    float v_scale;
    int head;
    int first;   ///< the warpgroup's first row, counted from the item's
    int length;  ///< rows that there are, counted from the item's first
};

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
/// pieces of 16 bytes.
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
                x[c / 4][c % 4 / 2] = packed_bf16(low * factor[i], high * factor[i]);
            }
            pair_up(x, lane % 2 != 0);
            const int column = 32 * two + 16 * (lane % 2) + 8 * (lane % 4 / 2);
            const std::uint32_t piece[4] = {x[0][0], x[0][1], x[1][0], x[1][1]};
            if (!exists[i] || column >= columns) {  // head dims are multiples of 16: all or none
                continue;
            }
            if constexpr (chunked) {
                ptx::st_global_v4_u32(to[i] + column,
                                      make_uint4(piece[0], piece[1], piece[2], piece[3]));
            } else {
#pragma unroll
                for (int e = 0; e < 8; ++e) {
                    to[i][column + e] = static_cast<std::uint16_t>(piece[e / 2] >> (16 * (e % 2)));
                }
            }
        }
    }
}

/// Outputs and LSE of a thread's rows.
template <Tile tile>
__device__ __forceinline__ void write_rows(const Params& p, const Ending& end,
                                           const float (&out)[tile.headdim / 2],
                                           const RowState& state) {
    const AttentionArgs& a = p.args;
    // Read again, so that no place is kept in registers from item to item.
    const std::uint32_t thread = ptx::tid_x_volatile();
    const int lane = static_cast<int>(thread % 32);
    const int warp = static_cast<int>(thread / 32 % 4);
    const RowEnds ends(p, state, end.head, end.v_scale);
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

/// Rows that see no key: zeros, and an LSE that says so.
__device__ inline void write_no_keys(const Params& p, const Ending& end) {
    const AttentionArgs& a = p.args;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const int rows = smaller(end.first + 64, end.length);
    auto* out = static_cast<std::uint16_t*>(a.out.data) + end.out;
#pragma unroll 1
    for (int row = end.first; row < rows; ++row) {
        for (int column = thread; column < a.headdim_v; column += 128) {
            out[row * a.out.seq_stride + column] = 0;
        }
        if (a.lse != nullptr && thread == 0) {
            a.lse[end.lse + row * a.lse_seq_stride] = lse_without_keys(p, end.head);
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

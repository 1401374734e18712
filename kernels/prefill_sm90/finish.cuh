// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, LSE, and stores straight from the
// accumulators, so that the next tile's copies and products need not wait for shared memory.
#pragma once

#include "gpu/ptx/lg2_approx_ftz_f32.cuh"
#include "gpu/ptx/rcp_approx_ftz_f32.cuh"
#include "gpu/ptx/st_global_v4_u32.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/softmax.cuh"

namespace raceline::kernels::prefill_sm90 {

inline constexpr float log2_e = 1.4426950408889634F;
inline constexpr float ln_2 = 0.6931471805599453F;

/// Word s of thread t of a quad becomes word t of thread s.
__device__ __forceinline__ void transpose_quad(std::uint32_t (&x)[4]) {
    const unsigned lane = threadIdx.x;
    const bool odd = (lane & 1U) != 0;
    const bool upper = (lane & 2U) != 0;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const std::uint32_t given = odd ? x[i] : x[i + 1];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 1);
        x[i] = odd ? taken : x[i];
        x[i + 1] = odd ? x[i + 1] : taken;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t given = upper ? x[i] : x[i + 2];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 2);
        x[i] = upper ? taken : x[i];
        x[i + 2] = upper ? x[i + 2] : taken;
    }
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
    __device__ __forceinline__ RowEnds(const Params& p, const RowState& state, int head) {
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
            factor[i] = none ? 0 : shrink[i] * ptx::rcp_approx_ftz_f32(sum[i]);
            lse[i] = (base[i] + log2_of_sum(sum[i])) * ln_2;
            lse[i] = none ? lse_without_keys(p, head) : lse[i];
        }
    }
};

/// Where a warpgroup's rows of an item end, as announced.
struct Ending {
    std::int64_t out, lse;  ///< elements from the tensors' starts to the item's first row
    int head;
    int first;   ///< the warpgroup's first row, counted from the item's
    int length;  ///< rows that there are, counted from the item's first
};

/// Stores the LSE of a thread's rows. `factor`: what their outputs must be multiplied by.
__device__ __forceinline__ void finish_rows(const Params& p, const Ending& end,
                                            const RowState& state, float (&factor)[2]) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
    const RowEnds ends(p, state, end.head);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int row = end.first + fragment_row(warp, lane, i);
        if (a.lse != nullptr && row < end.length && lane % 4 == 0) {
            a.lse[end.lse + row * a.lse_seq_stride] = ends.lse[i];
        }
        factor[i] = ends.factor[i];
    }
}

/// Outputs of a thread's rows. They leave in pieces of 16 bytes, or one by one where addresses or
/// head dim do not allow that.
template <Tile tile, bool bf16>
__device__ __forceinline__ void write_rows(const Params& p, const Ending& end,
                                           float (&out)[tile.headdim_v / 2],
                                           const float (&factor)[2]) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
    int row[2];
    std::uint16_t* to[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        row[i] = end.first + fragment_row(warp, lane, i);
        to[i] = static_cast<std::uint16_t*>(a.out.data) + end.out + row[i] * a.out.seq_stride;
    }
    if (p.chunked_out) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int four = 0; four < tile.headdim_v / 32; ++four) {
                std::uint32_t x[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int at = fragment_element(4 * four + j, i, 0);
                    x[j] = packed<bf16>(out[at] * factor[i], out[at + 1] * factor[i]);
                }
                transpose_quad(x);  // thread t of the quad now has the t-th eight of 32 columns
                const int column = 32 * four + 8 * (lane % 4);
                if (row[i] < end.length && column < a.headdim_v) {
                    ptx::st_global_v4_u32(to[i] + column, make_uint4(x[0], x[1], x[2], x[3]));
                }
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int columns = row[i] < end.length ? a.headdim_v : 0;
#pragma unroll
            for (int j = 0; j < tile.headdim_v / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int column = fragment_column(lane, j, e);
                    const float x = out[fragment_element(j, i, e)] * factor[i];
                    if (column < columns) {
                        to[i][column] = static_cast<std::uint16_t>(packed<bf16>(x, 0));
                    }
                }
            }
        }
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

template <int count>
__device__ __forceinline__ void clear(float (&x)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        x[i] = 0;
    }
}

}  // namespace raceline::kernels::prefill_sm90

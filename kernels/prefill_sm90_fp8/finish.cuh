// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, V's scale, LSE, and stores straight from
// the accumulators, so that the next tile's copies and products need not wait for shared memory.
#pragma once

#include <cstring>
#include <cuda_bf16.h>

#include "kernels/prefill_sm90_fp8/sequence.cuh"
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

/// Up to eight outputs at `to`, as many as `columns` has.
__device__ __forceinline__ void store_piece(std::uint16_t* to, const std::uint32_t (&x)[4],
                                            int columns, bool chunked) {
    if (columns <= 0) {
        return;
    }
    if (chunked) {
        *reinterpret_cast<uint4*>(to) = make_uint4(x[0], x[1], x[2], x[3]);
        return;
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {  // head dims are multiples of 16: all eight exist
        to[e] = static_cast<std::uint16_t>(x[e / 2] >> (16 * (e % 2)));
    }
}

/// The factor that turns the row's accumulators into its output, and its LSE. A sink adds to the
/// denominator alone; a row without keys has its sink's logit as LSE, or -inf without a sink.
struct RowEnd {
    float factor, lse;
};
__device__ __forceinline__ float lse_without_keys(const Params& p, int head) {
    return p.args.sinks != nullptr ? p.args.sinks[head] : -INFINITY;
}
__device__ __forceinline__ RowEnd end_row(const Params& p, const Work& w, float maximum,
                                          float sum) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
    if (maximum == -INFINITY) {
        return {0, lse_without_keys(p, w.head)};
    }
    float base = base_of(maximum, scale_log2_of(p, w));
    float shrink = 1;
    if (p.args.sinks != nullptr) {
        const float sink = p.args.sinks[w.head] * log2_e;
        const float both = fmaxf(base, sink);
        shrink = exp2f(base - both);
        sum = sum * shrink + exp2f(sink - both);
        base = both;
    }
    return {shrink / sum * scale_at(p.args.v_scale, w.scale), (base + log2f(sum)) * ln_2};
}

/// A thread has four neighbouring columns of every sixteen. With the thread beside it, it exchanges
/// two words of one sixteen for two of the next, so that each has eight neighbouring ones.
__device__ __forceinline__ void pair_up(std::uint32_t (&x)[2][2]) {
    const bool odd = (threadIdx.x & 1U) != 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t given = odd ? x[0][i] : x[1][i];
        const std::uint32_t taken = __shfl_xor_sync(0xFFFFFFFFU, given, 1);
        x[0][i] = odd ? taken : x[0][i];
        x[1][i] = odd ? x[1][i] : taken;
    }
}

template <Tile tile>
__device__ __forceinline__ void write_rows(const Params& p, const Work& w,
                                           const WarpgroupRows& rows,
                                           float (&out)[tile.headdim / 2], const RowState& state) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const RowEnd end = end_row(p, w, state.maximum[i], state.sum[i]);
        const int row = rows.first + fragment_row(warp, lane, i);
        const bool exists = row < w.sequence.band.length_q;
        const std::int64_t index = w.sequence.q_index;
        const std::int64_t token = w.sequence.q_token + row;
        auto* to = static_cast<std::uint16_t*>(a.out.data) + index * a.out.batch_stride +
                   token * a.out.seq_stride + w.head * a.out.head_stride;
        if (exists && a.lse != nullptr && lane % 4 == 0) {
            a.lse[index * a.lse_batch_stride + token * a.lse_seq_stride +
                  w.head * a.lse_head_stride] = end.lse;
        }
#pragma unroll
        for (int two = 0; two < tile.headdim / 32; ++two) {
            std::uint32_t x[2][2];
#pragma unroll
            for (int c = 0; c < 8; c += 2) {
                const float low = out[output_source(2 * two + c / 4, i, c % 4)];
                const float high = out[output_source(2 * two + c / 4, i, c % 4 + 1)];
                x[c / 4][c % 4 / 2] = packed_bf16(low * end.factor, high * end.factor);
            }
            pair_up(x);
            const int column = 32 * two + 16 * (lane % 2) + 8 * (lane % 4 / 2);
            const std::uint32_t piece[4] = {x[0][0], x[0][1], x[1][0], x[1][1]};
            if (exists) {
                store_piece(to + column, piece, a.headdim_v - column, p.chunked_out);
            }
        }
    }
}

/// Rows that see no key, 64 from `first` on: zeros, and an LSE that says so.
__device__ inline void write_no_keys(const Params& p, const Work& w, int first) {
    const AttentionArgs& a = p.args;
    const int thread = static_cast<int>(threadIdx.x % 128);
    const int rows = smaller(64, w.sequence.band.length_q - first);
    const std::int64_t index = w.sequence.q_index;
    const std::int64_t token = w.sequence.q_token + first;
    auto* to = static_cast<std::uint16_t*>(a.out.data) + index * a.out.batch_stride +
               token * a.out.seq_stride + w.head * a.out.head_stride;
#pragma unroll 1
    for (int row = 0; row < rows; ++row) {
        for (int column = thread; column < a.headdim_v; column += 128) {
            to[row * a.out.seq_stride + column] = 0;
        }
        if (a.lse != nullptr && thread == 0) {
            a.lse[index * a.lse_batch_stride + (token + row) * a.lse_seq_stride +
                  w.head * a.lse_head_stride] = lse_without_keys(p, w.head);
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

// SPDX-License-Identifier: Apache-2.0
// The end of a tile of rows: division by the row's sum, LSE, and stores straight from the
// accumulators, so that the next tile's copies and products need not wait for shared memory.
#pragma once

#include "kernels/prefill_sm90/sequence.cuh"
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
    for (int e = 0; e < 8; ++e) {
        if (e < columns) {
            to[e] = static_cast<std::uint16_t>(x[e / 2] >> (16 * (e % 2)));
        }
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
__device__ __forceinline__ RowEnd end_row(const Params& p, float maximum, float sum, int head) {
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
    if (maximum == -INFINITY) {
        return {0, lse_without_keys(p, head)};
    }
    float highest = __fmul_rn(maximum, p.scale_log2);  // the base that the sum stands on
    float shrink = 1;
    if (p.args.sinks != nullptr) {
        const float sink = p.args.sinks[head] * log2_e;
        const float both = fmaxf(highest, sink);
        shrink = exp2f(highest - both);
        sum = sum * shrink + exp2f(sink - both);
        highest = both;
    }
    return {shrink / sum, (highest + log2f(sum)) * ln_2};
}

template <Tile tile, bool bf16>
__device__ __forceinline__ void write_rows(const Params& p, const Work& w,
                                           const WarpgroupRows& rows,
                                           float (&out)[tile.headdim_v / 2],
                                           const RowState& state) {
    const AttentionArgs& a = p.args;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32 % 4);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const RowEnd end = end_row(p, state.maximum[i], state.sum[i], w.head);
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
        for (int four = 0; four < tile.headdim_v / 32; ++four) {
            std::uint32_t x[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float low = out[fragment_element(4 * four + j, i, 0)];
                const float high = out[fragment_element(4 * four + j, i, 1)];
                x[j] = packed<bf16>(low * end.factor, high * end.factor);
            }
            transpose_quad(x);  // thread t of the quad now has the t-th eight of 32 columns
            const int column = 32 * four + 8 * (lane % 4);
            if (exists) {
                store_piece(to + column, x, a.headdim_v - column, p.chunked_out);
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

template <int count>
__device__ __forceinline__ void clear(float (&x)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        x[i] = 0;
    }
}

}  // namespace raceline::kernels::prefill_sm90

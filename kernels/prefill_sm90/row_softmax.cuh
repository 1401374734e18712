// SPDX-License-Identifier: Apache-2.0
// Rows of accumulators, as far as they do not depend on the type of elements: online softmax, and
// the end of a work tile's rows. A thread has two rows of its warpgroup's 64, each shared with the
// three other threads of its quad.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "gpu/tile/sink.cuh"
#include "kernels/prefill_sm90/fragment.hpp"
#include "workload/attention_args.hpp"
#include "workload/band.hpp"

namespace raceline::kernels::hopper {

/// What a thread keeps of its two rows between blocks. Sums and outputs stand relative to 2^base;
/// -inf for a row that has seen no key. `sum` is of this thread's own columns only, until the
/// finish.
struct RowState {
    float base[2], sum[2];
    __device__ __forceinline__ RowState() : base{-INFINITY, -INFINITY}, sum{0, 0} {}
};

/// Where the thread's scores of a block stand: its first column among the keys, and the query rows
/// of its rows. `first_row`: query row of the warpgroup's row 0.
struct ScorePlace {
    int lane, warp;
    std::int32_t origin, first_row;
    __device__ __forceinline__ ScorePlace(std::int32_t its_first_row, std::int32_t first_key)
        : lane(static_cast<int>(threadIdx.x % 32)),
          warp(static_cast<int>(threadIdx.x / 32 % 4)),
          origin(first_key + fragment_column(lane, 0, 0)),
          first_row(its_first_row) {}
    [[nodiscard]] __device__ __forceinline__ std::int32_t row(int i) const {
        return first_row + fragment_row(warp, lane, i);
    }
};

/// Calls `then` with each of the thread's scores and with its column group j, row i and place e.
template <int count, class Then>
__device__ __forceinline__ void each_score(float (&score)[count], const Then& then) {
#pragma unroll
    for (int j = 0; j < count / 4; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                then(score[fragment_element(j, i, e)], j, i, e);
            }
        }
    }
}

/// Largest score of each of the thread's rows in this block, known to the whole quad.
template <auto tile>
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

/// Turns scores into probabilities relative to 2^base, in place, and adds up each row's.
template <auto tile>
__device__ __forceinline__ void exponentiate_relative(float scale_log2, const float (&base)[2],
                                                      float (&score)[tile.keys / 2],
                                                      float (&total)[2]) {
    float sum[2][2];  // additions wait for each other
    each_score(score, [&](float& x, int j, int i, int e) {
        x = ptx::ex2_approx_ftz_f32(fmaf(x, scale_log2, -base[i]));
        sum[i][e] = j == 0 ? x : sum[i][e] + x;
    });
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        total[i] = sum[i][0] + sum[i][1];
    }
}

/// Turns scores into probabilities relative to the base that *earlier* blocks have left, in place:
/// no maxima, no exchange between threads. True, in the whole warp, if that was right: no row's
/// have added up to more than `limit`, and `state.sum` has them. False if some have, or are not
/// numbers: then `state` is as it was. The sum, which is needed anyway, is the witness:
/// probabilities are positive, so none exceeds it.
template <auto tile>
__device__ __forceinline__ bool exponentiate_within(float limit, float scale_log2,
                                                    float (&score)[tile.keys / 2],
                                                    RowState& state) {
    float total[2];
    exponentiate_relative<tile>(scale_log2, state.base, score, total);
    if (__all_sync(0xFFFFFFFFU, total[0] <= limit && total[1] <= limit) == 0) {
        return false;
    }
    state.sum[0] += total[0];
    state.sum[1] += total[1];
    return true;
}

// The end of a work tile's rows, as far as it does not depend on the type of elements: division by
// the row's sum, LSE, rows without keys.

/// log2 of a sum of probabilities, to 2^-22. The instruction is that exact around 1 only.
__device__ __forceinline__ float log2_of_sum(float sum) {
    const std::int32_t bits = __float_as_int(sum);
    const std::int32_t exponent = (bits - __float_as_int(0.75F)) >> 23;
    const float mantissa = __int_as_float(bits - (exponent << 23));  // from 0.75 to 1.5
    // The difference is 0, or NaN where the sum is no finite number: that must not be lost.
    return static_cast<float>(exponent) + ptx::lg2_approx_ftz_f32(mantissa) + (sum - sum);
}

__device__ __forceinline__ float lse_without_keys(const AttentionArgs& a, int head) {
    return a.sinks != nullptr ? a.sinks[head] : -INFINITY;
}

/// The factors that turn a thread's two rows of accumulators into outputs, and their LSE. A sink
/// adds to the denominator alone; a row without keys has its sink's logit as LSE, or -inf without a
/// sink. No branches: the rows of all warps end at about the same time, and nothing else runs then.
struct RowEnds {
    float factor[2], lse[2];
    __device__ __forceinline__ RowEnds(const AttentionArgs& a, const RowState& state, int head,
                                       float v_scale) {
        float sum[2], base[2], shrink[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            sum[i] = state.sum[i] + __shfl_xor_sync(0xFFFFFFFFU, state.sum[i], 1);
            sum[i] += __shfl_xor_sync(0xFFFFFFFFU, sum[i], 2);
            base[i] = state.base[i];
            shrink[i] = 1;
        }
        if (a.sinks != nullptr) {
            const float sink = a.sinks[head] * log2_e;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                shrink[i] = exp2f(gpu::add_sink(sink, base[i], sum[i]));
            }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            // Maxima skip NaN, the sum does not.
            const bool none = state.base[i] == -INFINITY && sum[i] == sum[i];
            factor[i] = none ? 0 : shrink[i] * ptx::rcp_approx_ftz_f32(sum[i]) * v_scale;
            lse[i] = (base[i] + log2_of_sum(sum[i])) * ln_2;
            lse[i] = none ? lse_without_keys(a, head) : lse[i];
        }
    }
};

/// Where a warpgroup's rows of a work tile end, as described.
struct OutputRows {
    std::int64_t out, lse;  ///< elements from the tensors' starts to the work tile's first row
    float v_scale;          ///< of an 8-bit V, else 1
    int head;
    int first;   ///< the warpgroup's first row, counted from the work tile's
    int length;  ///< rows that there are, counted from the work tile's first
};

/// Rows that see no key: zeros, and an LSE that says so.
__device__ inline void write_no_keys(const AttentionArgs& a, const OutputRows& end) {
    const int thread = static_cast<int>(threadIdx.x % 128);
    const int rows = smaller(end.first + 64, end.length);
    auto* out = static_cast<std::uint16_t*>(a.out.data) + end.out;
#pragma unroll 1
    for (int row = end.first; row < rows; ++row) {
        for (int column = thread; column < a.headdim_v; column += 128) {
            out[row * a.out.seq_stride + column] = 0;
        }
        if (a.lse != nullptr && thread == 0) {
            a.lse[end.lse + row * a.lse_seq_stride] = lse_without_keys(a, end.head);
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

}  // namespace raceline::kernels::hopper

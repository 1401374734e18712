// SPDX-License-Identifier: Apache-2.0
// Partial answers of attention and how they merge: inside a CTA, and in the second launch.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/base_two.cuh"
#include "ladder/decode/plan.hpp"

namespace raceline::kernels::decode {

constexpr float lowest = -3e38F;  // below every score, and finite: no infinity minus infinity

inline __device__ float to_float(float x) {
    return x;
}
inline __device__ float to_float(__half x) {
    return __half2float(x);
}
inline __device__ void convert(float x, float& to) {
    to = x;
}
inline __device__ void convert(float x, __half& to) {
    to = __float2half_rn(x);
}

// n elements that are read or written at once.
template <class T, int n>
struct alignas(n * sizeof(T)) Pack {
    T at[n];
};
template <class T, int n>
__device__ void load(const T* from, float (&to)[n]) {
    const auto pack = *reinterpret_cast<const Pack<T, n>*>(from);
    for (int i = 0; i < n; ++i) {
        to[i] = to_float(pack.at[i]);
    }
}
template <class T, int n>
__device__ void store(T* to, const float (&from)[n]) {
    Pack<T, n> pack;
    for (int i = 0; i < n; ++i) {
        convert(from[i], pack.at[i]);
    }
    *reinterpret_cast<Pack<T, n>*>(to) = pack;
}

// The one token of a sequence, or its first in a cache.
template <class T, class Head>
__device__ const T* row_at(const TensorArg& t, unsigned batch, Head head) {
    return static_cast<const T*>(t.data) + batch * t.batch_stride + head * t.head_stride;
}

inline __device__ float sum_over_warp(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, lanes);
    }
    return x;
}

// The columns of a row that a lane holds: n of 32 n side by side. Of more than eight, every eight
// are side by side, so that what a warp reads at once lies in a row.
template <int n>
__device__ int column_of(int i) {
    constexpr int chunk = n < 8 ? n : 8;
    return i / chunk * (32 * chunk) + static_cast<int>(threadIdx.x % 32) * chunk + i % chunk;
}

// What some keys say about a row: the highest score (in units of log2), the sum of exponentials
// relative to it, and this lane's n outputs weighted alike. A key is one, and so is what a warp, a
// CTA or all splits have seen: they all merge.
template <int n>
struct Part {
    float highest = lowest, sum = 0;
    float out[n] = {};

    __device__ void merge(const Part& other) {
        const float common = fmaxf(highest, other.highest);
        const float mine = ptx::ex2_approx_ftz_f32(highest - common);
        const float theirs = ptx::ex2_approx_ftz_f32(other.highest - common);
        highest = common;
        sum = sum * mine + other.sum * theirs;
        for (int i = 0; i < n; ++i) {
            out[i] = out[i] * mine + other.out[i] * theirs;
        }
    }
    // In memory: every lane's outputs, then maximum and sum.
    __device__ void read(const float* from) {
        if constexpr (n <= 4) {
            load(from + threadIdx.x % 32 * n, out);
        } else {
            for (int i = 0; i < n; i += 4) {
                const float4 four = *reinterpret_cast<const float4*>(from + column_of<n>(i));
                out[i] = four.x;
                out[i + 1] = four.y;
                out[i + 2] = four.z;
                out[i + 3] = four.w;
            }
        }
        highest = from[32 * n];
        sum = from[32 * n + 1];
    }
    __device__ void write(float* to) const {
        if constexpr (n <= 4) {
            store(to + threadIdx.x % 32 * n, out);
        } else {
            for (int i = 0; i < n; i += 4) {
                *reinterpret_cast<float4*>(to + column_of<n>(i)) =
                    make_float4(out[i], out[i + 1], out[i + 2], out[i + 3]);
            }
        }
        to[32 * n] = highest;
        to[32 * n + 1] = sum;
    }
    // What all warps of a CTA know, in warp 0. Overwrites `memory`, which they have done with.
    __device__ void gather(float* memory) {
        const int warp = static_cast<int>(threadIdx.x / 32);
        write(memory + warp * part_floats(32 * n));
        __syncthreads();
        for (int from = 1; warp == 0 && from < warps; ++from) {
            Part other;
            other.read(memory + from * part_floats(32 * n));
            merge(other);
        }
    }
};

// The same columns of an output, times `factor`.
template <class T, int n>
__device__ void store_row(T* to, const float (&from)[n], float factor) {
    if constexpr (n <= 4) {
        float out[n];
        for (int i = 0; i < n; ++i) {
            out[i] = from[i] * factor;
        }
        store(to + static_cast<int>(threadIdx.x % 32) * n, out);
    } else {
        for (int i = 0; i < n; i += 8) {
            T* at = to + column_of<n>(i);
            __half2 pairs[4];
            for (int j = 0; j < 4; ++j) {
                pairs[j] =
                    __floats2half2_rn(from[i + 2 * j] * factor, from[i + 2 * j + 1] * factor);
            }
            uint4 raw;
            memcpy(&raw, pairs, sizeof(raw));
            *reinterpret_cast<uint4*>(at) = raw;
        }
    }
}

template <class T, int n>
__device__ void finish(const AttentionArgs& a, int batch, int head, const Part<n>& row) {
    const float factor = row.sum > 0 ? 1 / row.sum : 0;  // no keys: 0
    store_row(static_cast<T*>(a.out.data) + batch * a.out.batch_stride + head * a.out.head_stride,
              row.out, factor);
    if (threadIdx.x % 32 == 0 && a.lse != nullptr) {
        a.lse[batch * a.lse_batch_stride + head * a.lse_head_stride] =
            row.sum > 0 ? (row.highest + log2f(row.sum)) * ln_2 : -INFINITY;
    }
}

// Where a CTA leaves its part of a row: those of all splits side by side.
template <int d>
__device__ float* part_at(float* parts, const AttentionArgs& a, unsigned batch, std::int64_t head,
                          unsigned split) {
    return parts + ((std::int64_t{batch} * a.heads_q + head) * gridDim.y + split) * part_floats(d);
}

namespace {

// One CTA a row; its warps take the row's parts in turn, `group` at once. Grid: x over query heads,
// y batch.
template <class T, int d, int all_warps = warps, int group = 4, int ctas = 8>
__global__ void __launch_bounds__(32 * all_warps, ctas)
    merge(const __grid_constant__ AttentionArgs a, int splits, const float* parts) {
    __shared__ float4 memory[all_warps * part_floats(d) / 4];
    const int head = static_cast<int>(blockIdx.x);
    const int batch = static_cast<int>(blockIdx.y);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const float* mine = parts + (std::int64_t{batch} * a.heads_q + head) * splits * part_floats(d);
    Part<d / 32> row;
    for (int split = warp; split < splits; split += group * all_warps) {
        Part<d / 32> others[group];
        for (int j = 0; j < group; ++j) {
            others[j].read(mine + min(split + j * all_warps, splits - 1) * part_floats(d));
        }
        for (int j = 0; j < group; ++j) {
            if (split + j * all_warps >= splits) {
                others[j].highest = lowest;  // read again, but weighs nothing
            }
            row.merge(others[j]);
        }
    }
    auto* all = reinterpret_cast<float*>(memory);
    if constexpr (all_warps == warps) {
        __syncthreads();
        row.gather(all);
    } else {
        row.write(all + warp * part_floats(d));
        __syncthreads();
        for (int from = 1; warp == 0 && from < all_warps; ++from) {
            Part<d / 32> other;
            other.read(all + from * part_floats(d));
            row.merge(other);
        }
    }
    if (warp == 0) {
        finish<T>(a, batch, head, row);
    }
}

}  // namespace
}  // namespace raceline::kernels::decode

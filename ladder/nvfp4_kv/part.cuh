// SPDX-License-Identifier: Apache-2.0
// Partial answers of attention and how they merge: inside a CTA, and in the second launch.
#pragma once

#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>

#include "gpu/ptx/ex2_approx_ftz_f32.cuh"
#include "ladder/nvfp4_kv/tile.hpp"

namespace raceline::kernels::nvfp4_kv {
namespace {

constexpr float log2_e = 1.4426950408889634F;
constexpr float ln_2 = 0.6931471805599453F;
constexpr float lowest = -3e38F;  // below every score, and finite: no infinity minus infinity

__device__ float to_float(float x) {
    return x;
}
__device__ float to_float(__half x) {
    return __half2float(x);
}
__device__ void convert(float x, float& to) {
    to = x;
}
__device__ void convert(float x, __half& to) {
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
        load(from + threadIdx.x % 32 * n, out);
        highest = from[32 * n];
        sum = from[32 * n + 1];
    }
    __device__ void write(float* to) const {
        store(to + threadIdx.x % 32 * n, out);
        to[32 * n] = highest;
        to[32 * n + 1] = sum;
    }
    // What all warps of a CTA know, in warp 0. Overwrites `memory`, which they have done with.
    __device__ void gather(float* memory) {
        const int warp = static_cast<int>(threadIdx.x / 32);
        __syncthreads();
        write(memory + warp * part_floats(32 * n));
        __syncthreads();
        for (int from = 1; warp == 0 && from < warps; ++from) {
            Part other;
            other.read(memory + from * part_floats(32 * n));
            merge(other);
        }
    }
};

template <class T, int n>
__device__ void finish(const AttentionArgs& a, int batch, int head, const Part<n>& row) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const float factor = row.sum > 0 ? 1 / row.sum : 0;  // no keys: 0
    float out[n];
    for (int i = 0; i < n; ++i) {
        out[i] = row.out[i] * factor;
    }
    store(static_cast<T*>(a.out.data) + batch * a.out.batch_stride + head * a.out.head_stride +
              lane * n,
          out);
    if (lane == 0 && a.lse != nullptr) {
        a.lse[batch * a.lse_batch_stride + head * a.lse_head_stride] =
            row.sum > 0 ? (row.highest + log2f(row.sum)) * ln_2 : -INFINITY;
    }
}

// One CTA a row; its warps take the row's parts in turn. Grid: x over query heads, y batch.
template <class T, int d>
__global__ void __launch_bounds__(threads, 8)
    merge(const __grid_constant__ AttentionArgs a, int splits, const float* parts) {
    __shared__ float4 memory[warps * part_floats(d) / 4];
    const int head = static_cast<int>(blockIdx.x);
    const int batch = static_cast<int>(blockIdx.y);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const float* mine = parts + (std::int64_t{batch} * a.heads_q + head) * splits * part_floats(d);
    constexpr int group = 4;  // parts that a warp reads at once
    Part<d / 32> row;
    for (int split = warp; split < splits; split += group * warps) {
        Part<d / 32> others[group];
        for (int j = 0; j < group; ++j) {
            others[j].read(mine + min(split + j * warps, splits - 1) * part_floats(d));
        }
        for (int j = 0; j < group; ++j) {
            if (split + j * warps >= splits) {
                others[j].highest = lowest;  // read again, but weighs nothing
            }
            row.merge(others[j]);
        }
    }
    row.gather(reinterpret_cast<float*>(memory));
    if (warp == 0) {
        finish<T>(a, batch, head, row);
    }
}

}  // namespace
}  // namespace raceline::kernels::nvfp4_kv

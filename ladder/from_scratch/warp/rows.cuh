// SPDX-License-Identifier: Apache-2.0
// What a warp does with its rows: loads of sixteen bytes, maxima and sums by shuffles, and four
// columns of the output a lane.
#pragma once

#include <cfloat>
#include <cmath>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "gpu/tile/warp_scores.cuh"

namespace raceline::kernels::warp {

/// What one load of elements of `T` brought, for `gpu::stage`: an element, or sixteen bytes.
template <class T>
struct Unpack {
    template <int rows, int width, class Load>
    __device__ void operator()(float (&tile)[rows][width], int row, int column, Load raw,
                               int end) const {
        unpack(&tile[row][column], row < end ? raw : Load{}, T{});
    }
    static __device__ void unpack(float* to, float raw, float /*element*/) { *to = raw; }
    static __device__ void unpack(float* to, __half raw, __half /*element*/) {
        *to = __half2float(raw);
    }
    static __device__ void unpack(float* to, uint4 raw, float /*element*/) {
        *reinterpret_cast<uint4*>(to) = raw;
    }
    static __device__ void unpack(float* to, uint4 raw, __half /*element*/) {
        const auto* pairs = reinterpret_cast<const __half2*>(&raw);
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            const float2 left = __half22float2(pairs[i]);
            const float2 right = __half22float2(pairs[i + 1]);
            *reinterpret_cast<float4*>(to + 2 * i) = {left.x, left.y, right.x, right.y};
        }
    }
};

/// What is known of a warp's rows so far, the same in all lanes.
template <int count>
struct Known {
    float highest[count], sum[count];

    __device__ Known() {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            highest[i] = -FLT_MAX;  // finite, so that differences of it are numbers
            sum[i] = 0;
        }
    }
};

/// What the softmax makes of a lane's score of a row; `rescale` brings what came before to the
/// maximum of now.
struct Exponential {
    float p, rescale;
};
inline __device__ Exponential softmax(float& highest, float& sum, float score) {
    const float before = highest;
    highest = fmaxf(before, gpu::max_over_warp(score));
    const float rescale = expf(before - highest);
    const float p = expf(score - highest);
    sum = sum * rescale + gpu::sum_over_warp(p);
    return {p, rescale};
}

inline __device__ float4 times(float4 x, float factor) {
    return {x.x * factor, x.y * factor, x.z * factor, x.w * factor};
}
inline __device__ void add(float4& to, float p, float4 v) {
    to = {fmaf(p, v.x, to.x), fmaf(p, v.y, to.y), fmaf(p, v.z, to.z), fmaf(p, v.w, to.w)};
}

/// O += P V of a staged tile, for four columns of the rows `first`, `first` + `step`, ...
template <int step, int count, int rows, int width_p, int keys, int width_v>
__device__ void add_values(float4 (&outputs)[count], const float (&p)[rows][width_p],
                           const float (&v)[keys][width_v], int first, int column) {
#pragma unroll 2
    for (int key = 0; key < keys; key += 4) {
        float4 four[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            four[j] = gpu::quad(&v[key + j][column]);
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float4 of_row = gpu::quad(&p[first + i * step][key]);
            add(outputs[i], of_row.x, four[0]);
            add(outputs[i], of_row.y, four[1]);
            add(outputs[i], of_row.z, four[2]);
            add(outputs[i], of_row.w, four[3]);
        }
    }
}

}  // namespace raceline::kernels::warp

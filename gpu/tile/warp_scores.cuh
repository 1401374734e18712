// SPDX-License-Identifier: Apache-2.0
// A row of scores in the lanes of a warp: products of sixteen bytes a load, and what all lanes have
// together.
#pragma once

#include <cuda_runtime.h>

namespace raceline::gpu {

inline __device__ float4 quad(const float* from) {
    return *reinterpret_cast<const float4*>(from);
}
inline __device__ float dot(float4 x, float4 y, float sum) {
    return fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum))));
}

/// One lane's score, not scaled yet: its key against its warp's query.
template <int headdim>
__device__ float score(const float* q, const float* k) {
    float sum = 0;
#pragma unroll
    for (int d = 0; d < headdim; d += 4) {
        sum = dot(quad(q + d), quad(k + d), sum);
    }
    return sum;
}

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}
/// Of all lanes, in all lanes.
inline __device__ float max_over_warp(float x) {
    return over_warp(x, [](float one, float other) { return fmaxf(one, other); });
}
inline __device__ float sum_over_warp(float x) {
    return over_warp(x, [](float one, float other) { return one + other; });
}

}  // namespace raceline::gpu

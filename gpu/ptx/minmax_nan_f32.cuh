// SPDX-License-Identifier: Apache-2.0
// The smaller and the larger of two floats, NaN if either is one (sm_80).
#pragma once

namespace raceline::ptx {

/// min.NaN.f32.
__device__ __forceinline__ float min_nan_f32(float a, float b) {
    float d;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}

/// max.NaN.f32.
__device__ __forceinline__ float max_nan_f32(float a, float b) {
    float d;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    return d;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// The smaller of two; NaN if one of them is, where fminf takes the other (PTX ISA, min). Orders
/// nothing: it touches no memory. sm_80 and later.
__device__ __forceinline__ float min_nan_f32(float a, float b) {
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// 2^x, relative error at most 2^-22; results below 2^-126 become 0, -inf gives 0 (PTX ISA, ex2).
/// Orders nothing: it touches no memory.
__device__ __forceinline__ float ex2_approx_ftz_f32(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace raceline::ptx

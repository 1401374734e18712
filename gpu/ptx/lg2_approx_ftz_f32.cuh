// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// log2(x), off by at most 2^-22 for x from 0.5 to 2, and by that share of the result elsewhere;
/// 0 gives -inf (PTX ISA, lg2). Orders nothing: it touches no memory.
__device__ __forceinline__ float lg2_approx_ftz_f32(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace raceline::ptx

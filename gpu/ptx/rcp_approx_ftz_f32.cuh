// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// 1 / x, at most 1 ulp off; 0 gives +inf (PTX ISA, rcp). Orders nothing: it touches no memory.
__device__ __forceinline__ float rcp_approx_ftz_f32(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

}  // namespace raceline::ptx

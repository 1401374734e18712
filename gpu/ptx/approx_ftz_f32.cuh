// SPDX-License-Identifier: Apache-2.0
// Functions that the special function unit approximates, of one float; denormals are 0. They order
// nothing: they touch no memory.
#pragma once

namespace raceline::ptx {

// clang-format off
#define RACELINE_APPROX_FTZ_F32(FUNCTION) \
    __device__ __forceinline__ float FUNCTION##_approx_ftz_f32(float x) { \
        float y; asm(#FUNCTION ".approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; \
    }
// clang-format on

/// 2^x, relative error at most 2^-22; results below 2^-126 become 0, -inf gives 0 (PTX ISA, ex2).
RACELINE_APPROX_FTZ_F32(ex2)
/// log2(x), off by at most 2^-22 for x from 0.5 to 2, and by that share of the result elsewhere;
/// 0 gives -inf (PTX ISA, lg2).
RACELINE_APPROX_FTZ_F32(lg2)
/// 1 / x, at most 1 ulp off; 0 gives +inf (PTX ISA, rcp).
RACELINE_APPROX_FTZ_F32(rcp)

#undef RACELINE_APPROX_FTZ_F32

}  // namespace raceline::ptx

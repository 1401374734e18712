// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products d = a·b, or d += a·b if `accumulate`, 64 × 256 with fp32 accumulators
// (sm_90a): four warps that start at a multiple of four. A from shared memory (a
// descriptor) or registers (four words, layout of the PTX manual), B from shared memory, both
// K-major. Asynchronous: wgmma_fence before the first, then wgmma_commit_group and wgmma_wait_group
// before `d` is read or an operand overwritten.
#pragma once

#include "gpu/ptx/wgmma_text.cuh"

namespace raceline::ptx {

// clang-format off
// TYPE of both operands, with the extent K that an instruction takes of them.
#define RACELINE_WGMMA(NAME, K, TYPE, MODES_SS, MODES_RS) \
    RACELINE_WGMMA_SS(wgmma_m64n256##K##_##NAME, "m64n256" #K ".f32." TYPE "." TYPE, MODES_SS, 128, 129, 130) \
    RACELINE_WGMMA_RS(wgmma_m64n256##K##_##NAME, "m64n256" #K ".f32." TYPE "." TYPE, MODES_RS, 128, 129, 130, 131, 132, 133)

RACELINE_WGMMA(bf16, k16, "bf16", ", 0, 0", ", 0")
RACELINE_WGMMA(f16, k16, "f16", ", 0, 0", ", 0")
RACELINE_WGMMA(e4m3, k32, "e4m3", "", "")
RACELINE_WGMMA(tf32, k8, "tf32", "", "")

#undef RACELINE_WGMMA
// clang-format on

}  // namespace raceline::ptx

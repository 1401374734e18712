// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products of e4m3 operands, d = a·b or d += a·b if `accumulate`: 64 × n, k 32,
// fp32 accumulators of which the tensor core keeps fewer bits (Rounding::e4m3_sum), n = twice the
// extent of `d`, a multiple of 32 up to 256 (sm_90a). B from shared memory, K-major: there is no
// other for 8-bit types. Executed by four warps that start at a multiple of four. Asynchronous:
// wgmma_fence before the first, then wgmma_commit_group and wgmma_wait_group before `d` is read or
// an operand overwritten.
//
// Accumulators as in wgmma_k16.cuh. A in registers (PTX ISA, "wgmma register fragment A", k32):
// byte i of word w is row lane/4 + 8·(w%2), column 4·(lane%4) + 16·(w/2) + i.
#pragma once

#include "gpu/ptx/wgmma_text.cuh"

namespace raceline::ptx {

// clang-format off
// N is n, A its half, the rest the numbers of the operands after the accumulators.
#define RACELINE_WGMMA(N, A, A1, A2, A3, A4, A5) \
    RACELINE_WGMMA_SS(wgmma_k32_e4m3_ss, "m64n" #N "k32.f32.e4m3.e4m3", "", A, A1, A2) \
    RACELINE_WGMMA_RS(wgmma_k32_e4m3_rs, "m64n" #N "k32.f32.e4m3.e4m3", "", A, A1, A2, A3, A4, A5)

RACELINE_WGMMA(32, 16, 17, 18, 19, 20, 21)
RACELINE_WGMMA(64, 32, 33, 34, 35, 36, 37)
RACELINE_WGMMA(96, 48, 49, 50, 51, 52, 53)
RACELINE_WGMMA(128, 64, 65, 66, 67, 68, 69)
RACELINE_WGMMA(160, 80, 81, 82, 83, 84, 85)
RACELINE_WGMMA(192, 96, 97, 98, 99, 100, 101)
RACELINE_WGMMA(224, 112, 113, 114, 115, 116, 117)
RACELINE_WGMMA(256, 128, 129, 130, 131, 132, 133)

#undef RACELINE_WGMMA
// clang-format on

}  // namespace raceline::ptx

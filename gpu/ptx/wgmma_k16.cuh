// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products of 16-bit operands, d = a·b or d += a·b if `accumulate`: 64 × n, k 16,
// fp32 accumulators, n = twice the extent of `d`, a multiple of 16 up to 256 (sm_90a). Executed by
// four warps that start at a multiple of four. Asynchronous: wgmma_fence before the first, then
// wgmma_commit_group and wgmma_wait_group before `d` is read or an operand overwritten.
//
// Accumulators (PTX ISA, "wgmma register fragment D"): element 4j + 2i + e of a thread is row
// 16·warp + lane/4 + 8i, column 8j + 2·(lane%4) + e. A in registers: word i of the four holds, low
// half first, row lane/4 + 8·(i%2), columns 2·(lane%4) + 8·(i/2) and the next.
//
//   wgmma_k16_TYPE_ss    A and B from shared memory, both K-major
//   wgmma_k16_TYPE_rs_t  A in registers, B from shared memory, MN-major ("transposed")
#pragma once

#include "gpu/ptx/wgmma_text.cuh"

namespace raceline::ptx {

// clang-format off
// N is n, A its half, the rest the numbers of the operands after the accumulators.
#define RACELINE_WGMMA(N, A, A1, A2, A3, A4, A5) \
    RACELINE_WGMMA_SS(wgmma_k16_bf16_ss, "m64n" #N "k16.f32.bf16.bf16", ", 0, 0", A, A1, A2) \
    RACELINE_WGMMA_SS(wgmma_k16_f16_ss, "m64n" #N "k16.f32.f16.f16", ", 0, 0", A, A1, A2) \
    RACELINE_WGMMA_RS(wgmma_k16_bf16_rs_t, "m64n" #N "k16.f32.bf16.bf16", ", 1", A, A1, A2, A3, A4, A5) \
    RACELINE_WGMMA_RS(wgmma_k16_f16_rs_t, "m64n" #N "k16.f32.f16.f16", ", 1", A, A1, A2, A3, A4, A5)

RACELINE_WGMMA(16, 8, 9, 10, 11, 12, 13)
RACELINE_WGMMA(32, 16, 17, 18, 19, 20, 21)
RACELINE_WGMMA(48, 24, 25, 26, 27, 28, 29)
RACELINE_WGMMA(64, 32, 33, 34, 35, 36, 37)
RACELINE_WGMMA(80, 40, 41, 42, 43, 44, 45)
RACELINE_WGMMA(96, 48, 49, 50, 51, 52, 53)
RACELINE_WGMMA(112, 56, 57, 58, 59, 60, 61)
RACELINE_WGMMA(128, 64, 65, 66, 67, 68, 69)
RACELINE_WGMMA(144, 72, 73, 74, 75, 76, 77)
RACELINE_WGMMA(160, 80, 81, 82, 83, 84, 85)
RACELINE_WGMMA(176, 88, 89, 90, 91, 92, 93)
RACELINE_WGMMA(192, 96, 97, 98, 99, 100, 101)
RACELINE_WGMMA(208, 104, 105, 106, 107, 108, 109)
RACELINE_WGMMA(224, 112, 113, 114, 115, 116, 117)
RACELINE_WGMMA(240, 120, 121, 122, 123, 124, 125)
RACELINE_WGMMA(256, 128, 129, 130, 131, 132, 133)

#undef RACELINE_WGMMA
// clang-format on

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// A matrix of 8 × 8 two-byte elements, a word a lane, transposed among the lanes of a warp (sm_75).
// All threads of the warp take part. Registers alone: no ordering to think of.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// movmatrix: lane l gives elements 2·(l % 4) and the next of row l / 4, and gets, of column l / 4,
/// the elements of rows 2·(l % 4) and the next.
__device__ __forceinline__ std::uint32_t movmatrix_trans(std::uint32_t a) {
    std::uint32_t d = 0;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
    return d;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// stmatrix.x4 (sm_90): four matrices of 8 × 8 two-byte elements from the registers of a warp to
/// shared memory. All threads of the warp take part. Lane l names row l % 8 of matrix l / 8 by a
/// shared-memory address (as of cvta to shared), a multiple of 16; register i is of matrix i and
/// holds elements 2·(l % 4) and the next of row l / 4. Weak: no ordering; fence_proxy_async_shared
/// before wgmma or a bulk copy reads them.
__device__ __forceinline__ void stmatrix_x4(std::uint32_t address, const std::uint32_t (&d)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3])
                 : "memory");
}

}  // namespace raceline::ptx

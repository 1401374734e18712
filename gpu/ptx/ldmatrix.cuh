// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 × 8 two-byte elements from shared memory to the registers of a warp (sm_75). All
// threads of the warp take part. Lane l names row l % 8 of matrix l / 8 by a shared-memory address
// (as of cvta to shared), a multiple of 16; register i of the result is of matrix i. Weak: no
// ordering; a barrier must stand between a write by another thread and this read. Volatile keeps
// it behind that barrier.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// ldmatrix.x4: lane l gets elements 2·(l % 4) and the next of row l / 4.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&d)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address));
}

/// ldmatrix.x4.trans: lane l gets, of column l / 4, the elements of rows 2·(l % 4) and the next.
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&d)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(address));
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Loads from global memory. Weak: no ordering. Volatile, so that equal loads of a timed loop are
// not merged.
#pragma once

#include <cstdint>
#include <vector_types.h>

namespace raceline::ptx {

/// ld.global.cg.u32: 4 bytes from L2 or below, never from L1.
__device__ inline std::uint32_t ld_global_cg_u32(const void* from) {
    std::uint32_t value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

// clang-format off
#define RACELINE_LD_GLOBAL_V4(NAME, INSTRUCTION) \
    __device__ inline uint4 NAME(const uint4* from) { \
        uint4 v; \
        asm volatile(INSTRUCTION " {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from)); return v; \
    }
// clang-format on

/// 16 bytes from L2 or below, never from L1: sees what other SMs wrote before.
RACELINE_LD_GLOBAL_V4(ld_global_cg_v4_u32, "ld.global.cg.v4.u32")
/// 16 bytes through the read-only path, without a place in L1: for data read once. The data must
/// not change while the kernel runs.
RACELINE_LD_GLOBAL_V4(ld_global_nc_l1_no_allocate_v4_u32, "ld.global.nc.L1::no_allocate.v4.u32")

#undef RACELINE_LD_GLOBAL_V4

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// ld.global.cg.u32: 4 bytes from L2 or below, never from L1. Weak: no ordering.
__device__ inline std::uint32_t ld_global_cg_u32(const void* from) {
    std::uint32_t value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// ld.shared.u32: four bytes from a shared-memory address (as of cvta to shared), a multiple of 4.
/// Weak: what another thread stored there is seen after a barrier only.
__device__ inline std::uint32_t ld_shared_u32(std::uint32_t address) {
    std::uint32_t x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
    return x;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// st.shared.u32: four bytes to a shared-memory address (as of cvta to shared), a multiple of 4.
/// Weak: other threads see it after a barrier only.
__device__ inline void st_shared_u32(std::uint32_t address, std::uint32_t x) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(x) : "memory");
}

}  // namespace raceline::ptx

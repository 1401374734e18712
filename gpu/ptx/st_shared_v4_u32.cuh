// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector_types.h>

namespace raceline::ptx {

/// st.shared.v4.u32: 16 bytes to a shared-memory address (as of cvta to shared), a multiple of 16.
/// Weak: no ordering; fence_proxy_async_shared before wgmma or a bulk copy reads them.
__device__ inline void st_shared_v4_u32(std::uint32_t address, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

}  // namespace raceline::ptx

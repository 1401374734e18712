// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector_types.h>

namespace raceline::ptx {

/// ld.shared.v4.u32: 16 bytes from a shared-memory address (as of cvta to shared). Weak: no
/// ordering. Volatile, so that equal loads of a timed loop are not merged.
__device__ inline uint4 ld_shared_v4_u32(std::uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address));
    return v;
}

}  // namespace raceline::ptx

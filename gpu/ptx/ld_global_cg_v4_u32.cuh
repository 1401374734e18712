// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector_types.h>

namespace raceline::ptx {

/// ld.global.cg.v4.u32: 16 bytes from L2 or below, never from L1: sees what other SMs wrote before.
/// Weak: no ordering. Volatile, so that equal loads of a timed loop are not merged.
__device__ inline uint4 ld_global_cg_v4_u32(const uint4* from) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector_types.h>

namespace raceline::ptx {

/// ld.global.nc.L1::no_allocate.v4.u32: 16 bytes through the read-only path, without a place in L1:
/// for data read once. The data must not change while the kernel runs. Weak: no ordering. Volatile,
/// so that equal loads of a timed loop are not merged.
__device__ inline uint4 ld_global_nc_l1_no_allocate_v4_u32(const uint4* from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

}  // namespace raceline::ptx

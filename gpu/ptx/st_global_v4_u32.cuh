// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector_types.h>

namespace raceline::ptx {

/// st.global.v4.u32: 16 bytes to an address in global memory, a multiple of 16, as one store: the
/// compiler takes a store of a uint4 apart where that saves it moves between registers. Weak: no
/// ordering.
__device__ __forceinline__ void st_global_v4_u32(void* address, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

}  // namespace raceline::ptx

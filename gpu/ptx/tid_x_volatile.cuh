// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mov from %tid.x: threadIdx.x, read again at every call, so that nothing made of it is kept in
/// registers between calls. Orders nothing: it touches no memory.
__device__ __forceinline__ std::uint32_t tid_x_volatile() {
    std::uint32_t x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

}  // namespace raceline::ptx

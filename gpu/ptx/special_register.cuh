// SPDX-License-Identifier: Apache-2.0
// Special registers, read anew at every call: volatile.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mov.u64 %globaltimer: nanoseconds of the device's wall clock; steps of 32 ns to about 1 µs,
/// by device. Not moved across other volatile statements, no ordering beyond that.
__device__ inline std::uint64_t globaltimer() {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

/// mov from %tid.x: threadIdx.x, so that nothing made of it is kept in registers between calls.
/// Orders nothing: it touches no memory.
__device__ __forceinline__ std::uint32_t tid_x_volatile() {
    std::uint32_t x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
}

}  // namespace raceline::ptx

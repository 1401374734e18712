// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mov.u64 %globaltimer: nanoseconds of the device's wall clock; steps of 32 ns to about 1 µs,
/// by device. Volatile: not moved across other volatile statements, no ordering beyond that.
__device__ inline std::uint64_t globaltimer() {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

}  // namespace raceline::ptx

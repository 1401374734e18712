// SPDX-License-Identifier: Apache-2.0
// Bytes asked for ahead of their use (sm_90 and later).
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// cp.async.bulk.prefetch.L2: asks for bytes of global memory to be brought to the L2. Returns at
/// once; orders nothing. Address and size are multiples of 16.
__device__ __forceinline__ void cp_async_bulk_prefetch_l2(const void* from, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

/// prefetch.global.L2: asks for the line that holds an address. Returns at once; orders nothing.
__device__ __forceinline__ void prefetch_global_l2(const void* from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from) : "memory");
}

}  // namespace raceline::ptx

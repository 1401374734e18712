// SPDX-License-Identifier: Apache-2.0
// Ordering of warpgroup matrix products (sm_90a). Executed by all threads of the warpgroup.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// wgmma.fence: orders this thread's accesses to registers before it (accumulators, A fragments)
/// before wgmmas after it. Needed before the first and after every other write to such a register.
/// Shared memory is not ordered by it: fence_proxy_async_shared is.
__device__ inline void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// wgmma.commit_group: closes the warpgroup's current group. Orders nothing.
__device__ inline void wgmma_commit_group() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// wgmma.wait_group: all but the `pending` latest groups are complete. Only then may their
/// accumulators be read and their operands be overwritten.
template <int pending>
__device__ inline void wgmma_wait_group() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// No instruction: accumulators as the compiler knows them pass through here, so that no use of
/// them can be moved before a wait that stands above, nor a write after a fence that stands below.
template <int count>
__device__ __forceinline__ void pin_registers(float (&d)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        asm volatile("" : "+f"(d[i])::"memory");
    }
}

/// No instruction: x as a value that the compiler knows nothing of. What is computed from it, such
/// as a product's descriptors, is then computed where it is used instead of being kept in registers
/// through a loop.
__device__ __forceinline__ std::uint32_t recomputed(std::uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Bulk copies of whole runs of bytes by the copy engine (sm_90 and later). Addresses and sizes are
// multiples of 16; shared addresses as of cvta to shared.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// cp.async.bulk global to shared: returns at once; completes `bytes` on the mbarrier. The reader
/// waits for that phase; no other ordering.
__device__ inline void cp_async_bulk_shared_global(std::uint32_t to, const void* from,
                                                   std::uint32_t bytes, std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

/// cp.async.bulk shared to global, in the thread's current bulk group. Shared memory written by
/// ordinary stores needs fence_proxy_async_shared before it.
__device__ inline void cp_async_bulk_global_shared(void* to, std::uint32_t from,
                                                   std::uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

/// cp.async.bulk.commit_group: closes the thread's current bulk group. Orders nothing.
__device__ inline void cp_async_bulk_commit_group() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// cp.async.bulk.wait_group.read: all but the `pending` latest groups of this thread have read
/// their shared memory, which may then be overwritten. Writes may still be under way.
template <int pending>
__device__ inline void cp_async_bulk_wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

/// cp.async.bulk.wait_group: all but the `pending` latest groups of this thread are complete, their
/// writes made visible to this thread.
template <int pending>
__device__ inline void cp_async_bulk_wait_group() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace raceline::ptx

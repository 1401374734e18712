// SPDX-License-Identifier: Apache-2.0
// Copies of boxes of a tensor by the copy engine (sm_90 and later). `map` is the address of a
// CUtensorMap in parameter, constant or global memory; shared addresses as of cvta to shared.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// prefetch.tensormap: fetches a tensor map ahead of its first use. Orders nothing.
__device__ inline void prefetch_tensormap(const void* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// cp.async.bulk.tensor.4d global to shared: the box at coordinates {c0, c1, c2, c3}, c0 the
/// contiguous one; returns at once. What lies outside the tensor arrives as zeros and counts like
/// the rest: the whole box's bytes complete on the mbarrier. The reader waits for that phase.
__device__ inline void cp_async_bulk_tensor_4d_shared_global(std::uint32_t to, const void* map,
                                                             int c0, int c1, int c2, int c3,
                                                             std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
        "l"(map), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(barrier)
        : "memory");
}

/// cp.async.bulk.tensor.4d shared to global, in the thread's current bulk group: the box at
/// coordinates {c0, c1, c2, c3}; what lies outside the tensor is not written. Shared memory written
/// by ordinary stores needs fence_proxy_async_shared before it.
__device__ inline void cp_async_bulk_tensor_4d_global_shared(const void* map, int c0, int c1,
                                                             int c2, int c3, std::uint32_t from) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], "
        "[%5];" ::"l"(map),
        "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(from)
        : "memory");
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that run while their thread goes on (sm_80). A thread's
// copies since its last commit form a group. Once its wait has returned, a group's bytes are there
// for this thread; for others a barrier must follow.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// cp.async.cg, 16 bytes, past L1: the first `bytes` (0 to 16) from `from`, the rest zeros. With 0
/// bytes nothing is read. `to`, as of cvta to shared, and `from` are multiples of 16. The L2 gets
/// the 128 bytes around them.
__device__ __forceinline__ void cp_async_cg_16(std::uint32_t to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/// The same for rows of 64 bytes among others: the L2 gets no more than those from DRAM.
__device__ __forceinline__ void cp_async_cg_l2_64b_16(std::uint32_t to, const void* from,
                                                      int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::64B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/// cp.async.ca, 4 bytes, through L1: of a single word. With 0 bytes a zero.
__device__ __forceinline__ void cp_async_ca_4(std::uint32_t to, const void* from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

/// cp.async.commit_group: ends a group, which may be empty.
__device__ __forceinline__ void cp_async_commit_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// cp.async.wait_group: until at most the `pending` latest groups are under way.
template <int pending>
__device__ __forceinline__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace raceline::ptx

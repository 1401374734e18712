// SPDX-License-Identifier: Apache-2.0
// Transaction barriers in shared memory. Addresses are shared-memory addresses (cvta to shared).
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mbarrier.init: `arrivals` arrivals complete a phase. Not yet visible to other threads nor to the
/// copy engine: fence_mbarrier_init and a CTA barrier follow.
__device__ inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/// fence.mbarrier_init.release.cluster: makes inits before it visible to the cluster and to the
/// asynchronous proxy.
__device__ inline void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// mbarrier.arrive.expect_tx: one arrival, and the phase also waits for `bytes` of bulk copies.
/// Release at CTA scope.
__device__ inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

/// mbarrier.arrive: one arrival. Release at CTA scope: orders this thread's accesses before it for
/// those who wait for the phase.
__device__ inline void mbarrier_arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// mbarrier.try_wait.parity, repeated until the phase of that parity is complete. Acquire at CTA
/// scope: what the phase's arrivals and copies wrote may be read after it.
__device__ inline void mbarrier_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}\n" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

}  // namespace raceline::ptx

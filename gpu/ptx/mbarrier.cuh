// SPDX-License-Identifier: Apache-2.0
// Transaction barriers in shared memory (sm_90). Addresses are shared-memory addresses (cvta to
// shared). Older devices have none, and code for them that gets here ends in a trap.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mbarrier.init: `arrivals` arrivals complete a phase. Not yet visible to other threads nor to the
/// copy engine: fence_mbarrier_init follows, and a barrier of the CTA, or of the cluster if others
/// of it send here.
__device__ inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
#else
    __trap();
#endif
}

/// fence.mbarrier_init.release.cluster: makes inits before it visible to the cluster and to the
/// asynchronous proxy.
__device__ inline void fence_mbarrier_init() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
    __trap();
#endif
}

/// mbarrier.arrive.expect_tx: one arrival, and the phase also waits for `bytes` of bulk copies
/// and st.async stores.
/// Release at CTA scope.
__device__ inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
#else
    __trap();
#endif
}

/// mbarrier.arrive: one arrival. Release at CTA scope: orders this thread's accesses before it for
/// those who wait for the phase.
__device__ inline void mbarrier_arrive(std::uint32_t barrier) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#else
    __trap();
#endif
}

/// mbarrier.try_wait.parity, repeated until the phase of that parity is complete. Acquire at CTA
/// scope: what the phase's arrivals and copies wrote may be read after it.
__device__ inline void mbarrier_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}\n" ::"r"(barrier),
        "r"(parity)
        : "memory");
#else
    __trap();
#endif
}

}  // namespace raceline::ptx

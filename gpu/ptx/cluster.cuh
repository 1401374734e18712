// SPDX-License-Identifier: Apache-2.0
// Thread block clusters (sm_90): CTAs that run at the same time and reach each other's shared
// memory. Older devices have none, and code for them that gets here ends in a trap.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mapa and st.async.v2.b32: stores two words of 32 bits at the place in the shared memory of the
/// cluster's CTA `rank` that `address` (as of cvta to shared) names in this CTA's, and completes 8
/// bytes on its mbarrier, which `barrier` names likewise. Returns at once. The other CTA sees them
/// behind that phase; stores before it are not waited for, and nothing else is seen.
__device__ __forceinline__ void st_async_b32x2(std::uint32_t address, std::uint32_t barrier,
                                               std::uint32_t rank, std::uint32_t first,
                                               std::uint32_t second) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .b32 there, its_barrier;\n"
        "mapa.shared::cluster.u32 there, %0, %2;\n"
        "mapa.shared::cluster.u32 its_barrier, %1, %2;\n"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [there], {%3, %4}, "
        "[its_barrier];\n"
        "}" ::"r"(address),
        "r"(barrier), "r"(rank), "r"(first), "r"(second)
        : "memory");
#else
    __trap();
#endif
}

/// barrier.cluster, arrive.release and wait.acquire, behind a barrier of the warp, whose lanes must
/// come together: until all threads of all CTAs of the cluster are here. What they stored before is
/// seen by all.
__device__ __forceinline__ void barrier_cluster() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    __syncwarp();
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;" ::
            : "memory");
#else
    __trap();
#endif
}

}  // namespace raceline::ptx

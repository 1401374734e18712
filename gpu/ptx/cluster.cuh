// SPDX-License-Identifier: Apache-2.0
// Thread block clusters (sm_90): CTAs that run at the same time and reach each other's shared
// memory. Older devices have none, and code for them that gets here ends in a trap.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// mapa and st.shared::cluster.f32: stores a float at the place in the shared memory of the
/// cluster's CTA `rank` that `address` (as of cvta to shared) names in this CTA's. Weak: the other
/// CTA sees it behind a barrier of the cluster.
__device__ __forceinline__ void st_shared_cluster_f32(std::uint32_t address, std::uint32_t rank,
                                                      float value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %0, %1;\n"
        "st.shared::cluster.f32 [there], %2;\n"
        "}" ::"r"(address),
        "r"(rank), "f"(value)
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

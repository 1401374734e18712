// SPDX-License-Identifier: Apache-2.0
// Named barriers of a CTA: 16 of them, 0 is __syncthreads. A barrier opens when `threads` threads
// (a multiple of 32) have arrived, waiting or not, and is then ready for its next use.
#pragma once

namespace raceline::ptx {

/// bar.sync: arrives and waits. What the arriving threads did to memory before is visible after.
__device__ __forceinline__ void bar_sync(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// bar.arrive: arrives and goes on. Orders the memory accesses before it for those who wait.
__device__ __forceinline__ void bar_arrive(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// bar.red.or.pred: arrives at one of the 16 named barriers of a CTA, waits until `threads` threads
/// (a multiple of 32) have, and says whether `mine` was true in any of them. What the arriving
/// threads did to memory before is visible after.
__device__ __forceinline__ bool bar_red_or(int barrier, int threads, bool mine) {
    int any;
    asm volatile(
        "{.reg .pred p, q; setp.ne.b32 p, %3, 0; bar.red.or.pred q, %1, %2, p; "
        "selp.b32 %0, 1, 0, q;}"
        : "=r"(any)
        : "r"(barrier), "r"(threads), "r"(static_cast<int>(mine))
        : "memory");
    return any != 0;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Moves registers between the warpgroups of a CTA (sm_90a). All warps of the warpgroup execute the
// same one; the kernel needs a register cap at entry (__launch_bounds__ with the least CTAs).
#pragma once

namespace raceline::ptx {

/// setmaxnreg.inc: waits until the CTA's pool has enough, then owns `registers` a thread (24 … 256,
/// a multiple of 8). The new ones hold nothing.
template <int registers>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/// setmaxnreg.dec: gives all but `registers` a thread back to the CTA's pool.
template <int registers>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Launches that overlap (sm_90): a grid enqueued with programmatic stream serialization may begin
// before the grid in front of it has ended.
#pragma once

namespace raceline::ptx {

/// griddepcontrol.wait: until all grids that this one depends on have ended and their writes are
/// visible. Returns at once where there are none.
__device__ __forceinline__ void griddepcontrol_wait() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// griddepcontrol.launch_dependents: once all CTAs have said so, or ended, dependent grids may
/// begin. Orders nothing: what they read they must wait for.
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace raceline::ptx

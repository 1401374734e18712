// SPDX-License-Identifier: Apache-2.0
// A launch that gets ready while the one before it ends (compute capability 9.0).
#pragma once

#include "registry/enqueue.cuh"

namespace raceline {

/// As enqueue, for a launch that may begin while the one before it in the stream still runs: its
/// code waits by griddepcontrol.wait for what that one writes.
template <class... Parameters, class... Arguments>
void enqueue_overlapping(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
                         const Arguments&... arguments) {
    allow_shared_memory(who, reinterpret_cast<const void*>(code), shape.smem_bytes);
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.smem_bytes;
    config.stream = static_cast<cudaStream_t>(shape.stream);
    config.attrs = &overlap;
    config.numAttrs = 1;
    check_launch(who, cudaLaunchKernelEx(&config, code, arguments...));
}

}  // namespace raceline

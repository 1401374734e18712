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
    if (shape.smem_bytes > 48 * 1024) {  // as enqueue does
        check_cuda(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shape.smem_bytes)),
                   std::string(who) + ": asking for shared memory");
    }
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
    check_cuda(cudaLaunchKernelEx(&config, code, arguments...), std::string(who) + ": the launch");
}

}  // namespace raceline

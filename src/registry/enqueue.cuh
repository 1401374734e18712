// SPDX-License-Identifier: Apache-2.0
// How device code is enqueued, by engines and rungs alike.
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>

#include "support/cuda_check.cuh"

namespace raceline {

/// What a launch needs besides its code and its arguments. `stream` is a cudaStream_t.
struct LaunchShape {
    dim3 grid;
    int threads;             ///< of a CTA
    std::size_t smem_bytes;  ///< dynamic shared memory of a CTA
    void* stream;
};

/// Enqueues one launch of `code`. `who` begins the sentence of an error: "simt: the merge".
template <class... Parameters, class... Arguments>
void enqueue(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
             const Arguments&... arguments) {
    constexpr std::size_t without_asking = 48 * 1024;  // more is opt-in, CUDA programming guide
    if (shape.smem_bytes > without_asking) {
        check_cuda(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shape.smem_bytes)),
                   std::string(who) + ": asking for shared memory");
    }
    const auto stream = static_cast<cudaStream_t>(shape.stream);
    code<<<shape.grid, shape.threads, shape.smem_bytes, stream>>>(arguments...);
    check_cuda(cudaGetLastError(), std::string(who) + ": the launch");
}

/// Calls `then` with the one of `values` that equals `value`, as a std::integral_constant: from a
/// number known at run time to code compiled for it. False if none does.
template <int... values, class Then>
bool with_value(int value, const Then& then) {
    return ((value == values && (then(std::integral_constant<int, values>()), true)) || ...);
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// How device code is enqueued, by engines and rungs alike.
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <map>
#include <type_traits>
#include <utility>

#include "raceline/dtype.hpp"
#include "support/cuda_check.cuh"

namespace raceline {

/// What a launch needs besides its code and its arguments. `stream` is a cudaStream_t.
struct LaunchShape {
    dim3 grid;
    int threads;             ///< of a CTA
    std::size_t smem_bytes;  ///< dynamic shared memory of a CTA
    void* stream;
};

/// Bytes of dynamic shared memory that this thread has asked for, by code and device.
inline auto& allowed_shared_memory() {
    thread_local std::map<std::pair<const void*, int>, std::size_t> bytes;
    return bytes;
}

/// Lets `code` have more dynamic shared memory than a launch gets unasked. A thread remembers what
/// it has asked for on which device, since asking takes about as long as the launch itself; when
/// anything fails it forgets all, for the device may have been reset.
inline void allow_shared_memory(const char* who, const void* code, std::size_t bytes) {
    constexpr std::size_t without_asking = 48 * 1024;  // CUDA programming guide
    if (bytes <= without_asking) {
        return;
    }
    int device = 0;
    check_cuda(cudaGetDevice(&device), who, ": the device");
    std::size_t& allowed = allowed_shared_memory()[{code, device}];
    if (allowed < bytes) {
        check_cuda(cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)),
                   who, ": asking for shared memory");
        allowed = bytes;
    }
}

/// Throws as check_cuda does, of a launch.
inline void check_launch(const char* who, cudaError_t status) {
    if (status != cudaSuccess) {
        allowed_shared_memory().clear();
    }
    check_cuda(status, who, ": the launch");
}

/// Enqueues one launch of `code`. `who` begins the sentence of an error: "simt: the merge".
template <class... Parameters, class... Arguments>
void enqueue(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
             const Arguments&... arguments) {
    allow_shared_memory(who, reinterpret_cast<const void*>(code), shape.smem_bytes);
    const auto stream = static_cast<cudaStream_t>(shape.stream);
    code<<<shape.grid, shape.threads, shape.smem_bytes, stream>>>(arguments...);
    check_launch(who, cudaGetLastError());
}

/// Calls `then` with the one of `values` that equals `value`, as a std::integral_constant: from a
/// number known at run time to code compiled for it. False if none does.
template <int... values, class Then>
bool with_value(int value, const Then& then) {
    return ((value == values && (then(std::integral_constant<int, values>()), true)) || ...);
}

/// Calls `then` with the element type, fp16 or bf16 or, of all others, fp32, as a
/// std::integral_constant.
template <class Then>
void with_dtype(DType type, const Then& then) {
    switch (type) {
        case DType::fp16: return then(std::integral_constant<DType, DType::fp16>());
        case DType::bf16: return then(std::integral_constant<DType, DType::bf16>());
        default: return then(std::integral_constant<DType, DType::fp32>());
    }
}

}  // namespace raceline

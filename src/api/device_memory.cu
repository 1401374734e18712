// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cuda_runtime.h>

#include "support/cuda_check.cuh"

namespace raceline::api {

// Declared in call.hpp, which a device translation unit does not include.
void read_device_memory(void* host, const void* device, std::size_t bytes, void* stream);

void read_device_memory(void* host, const void* device, std::size_t bytes, void* stream) {
    auto* const in_order = static_cast<cudaStream_t>(stream);
    constexpr const char* who = "checked mode: reading device memory";
    check_cuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, in_order), who);
    check_cuda(cudaStreamSynchronize(in_order), who);
}

}  // namespace raceline::api

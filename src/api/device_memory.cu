// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cuda_runtime.h>
#include <string>

#include "raceline/error.hpp"

namespace raceline::api {

// Declared in call.hpp, which a device translation unit does not include.
void read_device_memory(void* host, const void* device, std::size_t bytes, void* stream);

void read_device_memory(void* host, const void* device, std::size_t bytes, void* stream) {
    auto* const in_order = static_cast<cudaStream_t>(stream);
    cudaError_t error = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, in_order);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(in_order);
    }
    if (error != cudaSuccess) {
        throw Error(Status::internal, std::string("checked mode could not read device memory: ") +
                                          cudaGetErrorString(error));
    }
}

}  // namespace raceline::api

// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <cuda_runtime.h>

#include "device/cuda_properties.hpp"

namespace raceline {
namespace {

// An attribute that this driver does not know reads as 0: "not stated", as everywhere.
int attribute(cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, 0) != cudaSuccess) {
        cudaGetLastError();  // do not leave it for the next caller's check
        return 0;
    }
    return value;
}

}  // namespace

bool read_cuda_properties(CudaProperties& properties) noexcept {
    int count = 0;
    cudaDeviceProp stated{};
    if (cudaGetDeviceCount(&count) != cudaSuccess || count < 1 ||
        cudaGetDeviceProperties(&stated, 0) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    static_assert(sizeof(stated.name) <= sizeof(properties.name));
    std::memcpy(properties.name, stated.name, sizeof(stated.name));
    properties.name[sizeof(properties.name) - 1] = '\0';
    properties.capability = 10 * stated.major + stated.minor;
    cudaDriverGetVersion(&properties.driver_version);
    properties.units = stated.multiProcessorCount;
    properties.clock_hz = 1e3 * attribute(cudaDevAttrClockRate);
    properties.memory_clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate);
    properties.memory_bus_bits = stated.memoryBusWidth;
    properties.memory_bytes = static_cast<std::int64_t>(stated.totalGlobalMem);
    properties.l2_bytes = stated.l2CacheSize;
    properties.smem_bytes_per_unit = static_cast<std::int64_t>(stated.sharedMemPerMultiprocessor);
    properties.smem_bytes_per_cta = static_cast<std::int64_t>(stated.sharedMemPerBlockOptin);
    properties.registers_per_unit = stated.regsPerMultiprocessor;
    properties.threads_per_unit = stated.maxThreadsPerMultiProcessor;
    properties.ctas_per_unit = stated.maxBlocksPerMultiProcessor;
    return true;
}

}  // namespace raceline

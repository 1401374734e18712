// SPDX-License-Identifier: Apache-2.0
// What the CUDA runtime says of a GPU, as plain numbers: this header is read by device and host
// files alike and names no type of either.
#pragma once

#include <cstdint>

namespace raceline {

struct CudaProperties {
    char name[256] = {};
    int capability = 0;      ///< 90 for sm_90
    int driver_version = 0;  ///< highest CUDA version of the driver: 13000 for 13.0
    int units = 0;           ///< SMs
    double clock_hz = 0;     ///< highest SM clock
    double memory_clock_hz = 0;
    int memory_bus_bits = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t smem_bytes_per_unit = 0;
    std::int64_t smem_bytes_per_cta = 0;  ///< opt-in
    int registers_per_unit = 0;
    int threads_per_unit = 0;
    int ctas_per_unit = 0;
};

/// Device 0. False without a driver or a device, and in a build without CUDA; never throws.
bool read_cuda_properties(CudaProperties& properties) noexcept;

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "machine.cuh"

namespace raceline::ptx {

inline void cvt_f16x2_e4m3x4(std::uint32_t& low, std::uint32_t& high, std::uint32_t four) {
    const auto two = [four](unsigned shift) {
        const __half2_raw raw =
            __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(four >> shift), __NV_E4M3);
        return raw.x | std::uint32_t{raw.y} << 16;
    };
    low = two(0);
    high = two(16);
}

}  // namespace raceline::ptx

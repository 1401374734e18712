// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline std::uint32_t cvt_e4m3x4(float a, float b, float c, float d) {
    std::uint32_t word = 0;
    int at = 0;
    for (const float x : {a, b, c, d}) {
        word |= std::uint32_t{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)} << 8 * at++;
    }
    return word;
}

}  // namespace raceline::ptx

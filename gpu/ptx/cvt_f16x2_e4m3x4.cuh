// SPDX-License-Identifier: Apache-2.0
// Four numbers in e4m3 as fp16, which holds every one of them exactly (sm_89). Registers alone: no
// ordering to think of.
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// Of the lower two bytes of `four` and of the upper two. Halves are named, not shifted down: the
/// conversion reads either.
__device__ __forceinline__ void cvt_f16x2_e4m3x4(std::uint32_t& low, std::uint32_t& high,
                                                 std::uint32_t four) {
    asm("{\n\t"
        ".reg .b16 lower, upper;\n\t"
        "mov.b32 {lower, upper}, %2;\n\t"
        "cvt.rn.f16x2.e4m3x2 %0, lower;\n\t"
        "cvt.rn.f16x2.e4m3x2 %1, upper;\n\t"
        "}"
        : "=r"(low), "=r"(high)
        : "r"(four));
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// cvt.rn.satfinite.e4m3x2.f32 (sm_89), twice: four floats as e4m3, the first in the lowest byte,
/// to nearest even; what is larger than 448 becomes 448. No memory, no ordering.
__device__ __forceinline__ std::uint32_t cvt_e4m3x4(float a, float b, float c, float d) {
    std::uint32_t word;
    asm("{\n.reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n}"
        : "=r"(word)
        : "f"(a), "f"(b), "f"(c), "f"(d));
    return word;
}

}  // namespace raceline::ptx

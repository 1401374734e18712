// SPDX-License-Identifier: Apache-2.0
// Found before the real wrapper: 2^x with an error spread over all that the instruction may have;
// 2^0 is exact (PTX ISA, table of ex2); 1 / x within an ulp (table of rcp).
#pragma once

#include <cmath>
#include <cstdint>

namespace raceline::ptx {

/// Uniform in (-1, 1): another one each time.
inline double next_error() {
    static std::uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return state / 2147483648.0 - 1;
}

inline float ex2_approx_ftz_f32(float x) {
    if (x == 0) {
        return 1;
    }
    const auto y =
        static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + next_error() * 0x1p-22));
    return y < 0x1p-126F ? 0 : y;
}

inline float rcp_approx_ftz_f32(float x) {
    const auto y = static_cast<float>(1.0 / x * (1 + next_error() * 0x1p-23));
    return std::fabs(y) < 0x1p-126F ? std::copysign(0.0F, y) : y;
}

}  // namespace raceline::ptx

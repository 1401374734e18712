// SPDX-License-Identifier: Apache-2.0
// Found before the real wrapper: 2^x with an error spread over all that the instruction may have;
// 2^0 is exact (PTX ISA, table of ex2).
#pragma once

#include <cmath>
#include <cstdint>

namespace raceline::ptx {

inline float ex2_approx_ftz_f32(float x) {
    if (x == 0) {
        return 1;
    }
    static std::uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    const double error = (state / 2147483648.0 - 1) * 0x1p-22;
    const auto y = static_cast<float>(std::exp2(static_cast<double>(x)) * (1 + error));
    return y < 0x1p-126F ? 0 : y;
}

}  // namespace raceline::ptx

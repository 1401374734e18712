// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include <cmath>

namespace raceline::ptx {

inline float lg2_approx_ftz_f32(float x) {
    return std::log2(x);
}

}  // namespace raceline::ptx

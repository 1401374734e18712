// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include <cmath>

namespace raceline::ptx {

inline float min_nan_f32(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b);
}

}  // namespace raceline::ptx

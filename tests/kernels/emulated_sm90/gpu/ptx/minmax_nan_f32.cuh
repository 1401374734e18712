// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name.
#pragma once

#include <cmath>

namespace raceline::ptx {

inline float min_nan_f32(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? NAN : (a < b ? a : b);
}
inline float max_nan_f32(float a, float b) {
    return std::isnan(a) || std::isnan(b) ? NAN : (a > b ? a : b);
}

}  // namespace raceline::ptx

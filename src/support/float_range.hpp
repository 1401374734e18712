// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

namespace raceline {

/// Whether a float32 of normal size holds a positive number.
constexpr bool is_positive_float(double x) {
    return x >= double{std::numeric_limits<float>::min()} &&
           x <= double{std::numeric_limits<float>::max()};
}

}  // namespace raceline

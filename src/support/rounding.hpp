// SPDX-License-Identifier: Apache-2.0
// Whole parts of whole numbers, on host and device.
#pragma once

#include <concepts>
#include <cstdint>

namespace raceline {

/// Parts of `b` that hold `a`, which is not negative.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
template <std::unsigned_integral T>
constexpr T divide_up(T a, T b) {
    return (a + b - 1) / b;
}

/// The next multiple of `b`.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
    return divide_up(a, b) * b;
}
template <std::unsigned_integral T>
constexpr T round_up(T a, T b) {
    return divide_up(a, b) * b;
}

}  // namespace raceline

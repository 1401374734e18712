// SPDX-License-Identifier: Apache-2.0
// What past errors say about a new prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "support/statistics.hpp"

namespace raceline {

/// Accuracy is given per regime and never as one average: launch cost rules the first, the schedule
/// the second, the ceilings the third.
enum class Regime : std::int32_t { under_20us, from_20us_to_100us, over_100us };
Regime regime_of(double seconds);             ///< 20 µs and 100 µs themselves are in the middle one
std::string_view regime_name(Regime regime);  ///< "<20us", "20-100us", ">100us"

inline constexpr std::size_t residuals_for_band = 20;

/// Seconds between which 90 % of past measurements of this regime would lie: with residuals
/// predicted / measured - 1, [seconds / (1 + q95), seconds / (1 + q05)]. Nothing below 20
/// residuals. Throws Error(invalid_argument) for a residual that is not a number above -1.
std::optional<Interval> error_band(std::span<const double> residuals, double seconds);

}  // namespace raceline

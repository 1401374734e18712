// SPDX-License-Identifier: Apache-2.0
#include "probe/power_fit.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "support/check.hpp"

namespace raceline::probe {
namespace {

constexpr double idle_w = 90;
constexpr double highest_hz = 2e9;

/// A board whose load takes `joules` a unit, at a share of the highest clock and of its voltage.
PowerPoint drawn(double rate, double joules, double clock = 1, double voltage = 1) {
    return {.watts = idle_w + rate * clock * joules * voltage * voltage,
            .clock_hz = clock * highest_hz,
            .rate = rate * clock};
}

TEST(PowerFit, JoulesAreThoseOfABoardThatFollowsThem) {
    const std::vector<PowerPoint> points{drawn(1e12, 5e-11), drawn(2e12, 5e-11)};
    EXPECT_NEAR(fit_joules(points, idle_w, highest_hz), 5e-11, 1e-20);
}

TEST(PowerFit, APointThatTheLimitHoldsDownDoesNotCount) {
    std::vector<PowerPoint> points{drawn(1e12, 5e-11), drawn(2e12, 5e-11)};
    points.push_back(drawn(4e12, 5e-11, 0.7, 0.8));
    EXPECT_NEAR(fit_joules(points, idle_w, highest_hz), 5e-11, 1e-20);
    points.erase(points.begin(), points.begin() + 2);
    EXPECT_THROW(fit_joules(points, idle_w, highest_hz), Error);
}

// Least squares through the origin: a point at twice the rate weighs four times as much.
TEST(PowerFit, LargerRatesWeighMore) {
    const std::vector<PowerPoint> points{drawn(1e12, 10e-11), drawn(2e12, 5e-11)};
    EXPECT_NEAR(fit_joules(points, idle_w, highest_hz), 6e-11, 1e-20);
}

// At 0.8 of the clock and 0.86 of the voltage: 0.14 / 0.2.
TEST(PowerFit, TheVoltageFallsBySevenTenthsOfTheClock) {
    const PowerPoint half = drawn(2e12, 1e-10), all = drawn(4e12, 1e-10, 0.8, 0.86);
    const auto slope = voltage_slope(half, all, 1e-10, idle_w, highest_hz);
    ASSERT_TRUE(slope.has_value());
    EXPECT_NEAR(*slope, 0.7, 1e-9);
}

TEST(PowerFit, NoSlopeWhereTheLimitHoldsNothingDownOrBoth) {
    const PowerPoint half = drawn(2e12, 1e-10);
    EXPECT_FALSE(voltage_slope(half, drawn(4e12, 1e-10), 1e-10, idle_w, highest_hz));
    EXPECT_FALSE(voltage_slope(half, drawn(4e12, 1e-10, 0.96, 0.97), 1e-10, idle_w, highest_hz));
    EXPECT_FALSE(voltage_slope(drawn(2e12, 1e-10, 0.9, 0.93), drawn(4e12, 1e-10, 0.7, 0.8), 1e-10,
                               idle_w, highest_hz));
    // Joules that were read too low: the voltage would be above that of the highest clock.
    EXPECT_FALSE(voltage_slope(half, drawn(4e12, 1e-10, 0.8, 0.86), 0.7e-10, idle_w, highest_hz));
}

}  // namespace
}  // namespace raceline::probe

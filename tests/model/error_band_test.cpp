// SPDX-License-Identifier: Apache-2.0
#include "model/error_band.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "raceline/error.hpp"

namespace raceline {
namespace {

TEST(Regime, Borders) {
    EXPECT_EQ(regime_of(19.99e-6), Regime::under_20us);
    EXPECT_EQ(regime_of(20e-6), Regime::from_20us_to_100us);
    EXPECT_EQ(regime_of(100e-6), Regime::from_20us_to_100us);
    EXPECT_EQ(regime_of(100.01e-6), Regime::over_100us);
    EXPECT_EQ(regime_name(Regime::over_100us), ">100us");
}

TEST(ErrorBand, NoneBelowTwentyResiduals) {
    EXPECT_FALSE(error_band(std::vector<double>(19, 0.1), 1));
    EXPECT_TRUE(error_band(std::vector<double>(20, 0.1), 1));
}

TEST(ErrorBand, HoldsNineInTenOfPastMeasurements) {
    // 21 residuals from -0.5 to 0.5 by 0.05: q05 = -0.45, q95 = 0.45.
    std::vector<double> residuals;
    for (int i = -10; i <= 10; ++i) {
        residuals.push_back(0.05 * i);
    }
    const Interval band = error_band(residuals, 2e-3).value_or(Interval{});
    EXPECT_NEAR(band.low, 2e-3 / 1.45, 1e-12);
    EXPECT_NEAR(band.high, 2e-3 / 0.55, 1e-12);
}

TEST(ErrorBand, FollowsABias) {
    // Always 25 % too slow: the measurement is at 0.8 of the prediction.
    const Interval band = error_band(std::vector<double>(30, 0.25), 1).value_or(Interval{});
    EXPECT_DOUBLE_EQ(band.low, 0.8);
    EXPECT_DOUBLE_EQ(band.high, 0.8);
}

TEST(ErrorBand, RefusesWhatIsNoResidual) {
    EXPECT_THROW(error_band(std::vector<double>{-1.0}, 1), Error);
}

}  // namespace
}  // namespace raceline

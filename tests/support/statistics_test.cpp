// SPDX-License-Identifier: Apache-2.0
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "raceline/error.hpp"

namespace raceline {
namespace {

// 1 … n in a seeded order: the value of an order statistic is its rank.
std::vector<double> ranks(int n) {
    std::vector<double> samples(static_cast<std::size_t>(n));
    std::iota(samples.begin(), samples.end(), 1.0);
    std::shuffle(samples.begin(), samples.end(), std::mt19937(7));
    return samples;
}

TEST(Statistics, MedianOfOddAndEvenCounts) {
    EXPECT_EQ(median(std::vector{5.0}), 5);
    EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5);
    EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0, 4.0}), 4.5);
    EXPECT_EQ(median(ranks(100)), 50.5);
}

TEST(Statistics, QuantileInterpolatesBetweenOrderStatistics) {
    const std::vector<double> four{40, 10, 30, 20};
    EXPECT_EQ(quantile(four, 0), 10);
    EXPECT_EQ(quantile(four, 1), 40);
    EXPECT_DOUBLE_EQ(quantile(four, 0.25), 17.5);  // position 0.75 between 10 and 20
    EXPECT_DOUBLE_EQ(quantile(four, 0.9), 37);     // position 2.7 between 30 and 40
}

// Ranks from the binomial distribution by hand. n = 10: 2 (1 + 10) / 1024 = 0.0215, one more would
// be 0.109. n = 9: 2 (1 + 9) / 512 = 0.039. n = 6: 2 / 64 = 0.031. n = 5: 2 / 32 = 0.063 is too
// much for 95 %. n = 20 and n = 100 are the ranks of published tables.
TEST(Statistics, MedianIntervalHasTheRanksOfTheBinomialDistribution) {
    struct {
        int n;
        double low, high;
    } const cases[] = {{1, 1, 1}, {5, 1, 5},  {6, 1, 6},   {8, 1, 8},
                       {9, 2, 8}, {10, 2, 9}, {20, 6, 15}, {100, 40, 61}};
    for (const auto& c : cases) {
        const Interval interval = median_interval(ranks(c.n));
        EXPECT_EQ(interval.low, c.low) << c.n;
        EXPECT_EQ(interval.high, c.high) << c.n;
    }
}

// Beyond n = 1074 the probability 2^-n is no double; there the normal approximation is exact
// enough.
TEST(Statistics, MedianIntervalOfManySamples) {
    const Interval interval = median_interval(ranks(10000));
    EXPECT_NEAR(interval.low, 5000 - 1.96 * 50, 1.5);
    EXPECT_NEAR(interval.high, 5001 + 1.96 * 50, 1.5);
}

TEST(Statistics, MedianIntervalCoversTheMedianAsOftenAsItSays) {
    std::mt19937 random(11);
    std::exponential_distribution<double> skewed;
    int covered = 0;
    constexpr int trials = 4000;
    for (int t = 0; t < trials; ++t) {
        std::vector<double> samples(17);
        std::generate(samples.begin(), samples.end(), [&] { return skewed(random); });
        const Interval interval = median_interval(samples);
        covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
    }
    // n = 17: ranks 5 and 13, coverage 1 - 2 P(B <= 4) = 0.951.
    EXPECT_NEAR(covered / double{trials}, 0.951, 0.012);
}

TEST(Statistics, AccuracyByHand) {
    // Errors: +10 %, -20 %, 0, +50 %, -5 %.
    const std::vector<double> predicted{110, 80, 7, 3, 9.5};
    const std::vector<double> measured{100, 100, 7, 2, 10};
    const PredictionAccuracy a = accuracy(predicted, measured);
    EXPECT_EQ(a.count, 5U);
    EXPECT_NEAR(a.mean_absolute, 0.17, 1e-12);
    EXPECT_NEAR(a.median_absolute, 0.10, 1e-12);
    EXPECT_NEAR(a.p90_absolute, 0.38, 1e-12);  // position 3.6 between 0.2 and 0.5
    EXPECT_NEAR(a.bias, 0.07, 1e-12);
    EXPECT_NEAR(a.within_10, 0.6, 1e-12);  // the limit itself is within
    EXPECT_NEAR(a.within_20, 0.8, 1e-12);
}

TEST(Statistics, WhatHasNoAnswerIsRefused) {
    const std::vector<double> none;
    const std::vector<double> one{1};
    const std::vector<double> zero{0};
    const std::vector<double> nan{1, std::numeric_limits<double>::quiet_NaN()};
    EXPECT_THROW(median(none), Error);
    EXPECT_THROW(median(nan), Error);
    EXPECT_THROW(median_interval(none), Error);
    EXPECT_THROW(quantile(one, 1.01), Error);
    EXPECT_THROW(quantile(one, nan[1]), Error);
    EXPECT_THROW(accuracy(none, none), Error);
    EXPECT_THROW(accuracy(one, nan), Error);
    EXPECT_THROW(accuracy(one, zero), Error);
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "timing/stop_rule.hpp"

#include <gtest/gtest.h>

namespace raceline {
namespace {

StopLimits quick() {
    StopLimits limits;
    limits.min_seconds = 0;
    limits.max_seconds = 1e9;
    return limits;
}

TEST(StopRule, settles_on_a_quiet_series_as_soon_as_it_may) {
    StopRule rule(quick());
    int samples = 0;
    while (!rule.done() && samples < 1000) {
        rule.add(1.0 + 1e-4 * (samples % 3));
        ++samples;
    }
    EXPECT_EQ(samples, quick().min_samples);
    EXPECT_TRUE(rule.settled());
}

TEST(StopRule, goes_on_while_the_median_drifts) {
    StopRule rule(quick());
    // Each half is quiet, but they disagree by 10 %: a clock that ramped between them.
    for (int i = 0; i < 40; ++i) {
        rule.add(i < 20 ? 1.0 : 1.1);
        EXPECT_FALSE(i > 20 && i < 39 && rule.settled()) << "after " << i;
    }
    EXPECT_FALSE(rule.done());
}

TEST(StopRule, a_noisy_series_ends_at_the_sample_limit_unsettled) {
    StopLimits limits = quick();
    limits.max_samples = 64;
    StopRule rule(limits);
    int samples = 0;
    while (!rule.done()) {
        rule.add(samples % 2 == 0 ? 1.0 : 2.0);
        ++samples;
    }
    EXPECT_EQ(samples, 64);
    EXPECT_FALSE(rule.settled());
}

TEST(StopRule, slow_work_ends_by_time_after_three_samples) {
    StopLimits limits;
    limits.max_seconds = 1;
    StopRule rule(limits);
    rule.add(2.0);
    EXPECT_FALSE(rule.done());
    rule.add(2.0);
    rule.add(2.0);
    EXPECT_TRUE(rule.done());
}

TEST(StopRule, waits_for_the_least_time_even_if_quiet) {
    StopLimits limits;
    limits.min_seconds = 1e-3;
    StopRule rule(limits);
    for (int i = 0; i < 99; ++i) {
        rule.add(1e-5);
        EXPECT_FALSE(rule.done()) << i;
    }
    for (int i = 0; i < 9; ++i) {
        rule.add(1e-5);
    }
    EXPECT_TRUE(rule.done());
}

}  // namespace
}  // namespace raceline

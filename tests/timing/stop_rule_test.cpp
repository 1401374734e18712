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

TEST(StopRule, goes_on_while_the_halves_disagree) {
    StopRule rule(quick());
    // A clock that drops after 160 calls. Of 400 samples so many are slow that the interval of the
    // median has no width at all; only the halves, 3 % apart, tell that nothing has settled.
    for (int i = 0; i < 400; ++i) {
        rule.add(i < 160 ? 1.0 : 1.03);
    }
    EXPECT_FALSE(rule.settled());
    EXPECT_FALSE(rule.done());
    // In the end the slow calls are the rule in both halves.
    for (int i = 0; i < 400; ++i) {
        rule.add(1.03);
    }
    EXPECT_TRUE(rule.settled());
    EXPECT_TRUE(rule.done());
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
    bool done = false;
    for (int i = 0; i < 9; ++i) {  // not every sample is looked at
        rule.add(1e-5);
        done = done || rule.done();
    }
    EXPECT_TRUE(done);
}

}  // namespace
}  // namespace raceline

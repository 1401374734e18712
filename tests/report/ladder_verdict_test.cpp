// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_verdict.hpp"

#include <gtest/gtest.h>

namespace raceline {
namespace {

TEST(LadderVerdict, thresholds_are_what_they_were_before_the_first_run) {
    EXPECT_TRUE(time_hit(1.2, 1.0));
    EXPECT_FALSE(time_hit(1.21, 1.0));
    EXPECT_FALSE(time_hit(0.79, 1.0));
    EXPECT_TRUE(speedup_hit(1.9, 2.0));
    EXPECT_FALSE(speedup_hit(1.5, 2.0));
    EXPECT_TRUE(speedup_hit(1.04, 0.96));   // no effect, twice
    EXPECT_FALSE(speedup_hit(1.04, 1.10));  // near, but one says that it helps
    EXPECT_FALSE(speedup_hit(1.06, 0.94));
}

RungCase one(double predicted, double measured, double predicted_before, double measured_before) {
    RungCase c;
    c.predicted = predicted;
    c.measured = measured;
    c.predicted_before = predicted_before;
    c.measured_before = measured_before;
    return c;
}

TEST(LadderVerdict, says_what_was_missed) {
    EXPECT_EQ(score_rung({}).verdict(), "not run");
    EXPECT_EQ(score_rung({one(1, 0, 2, 2)}).verdict(), "not run");
    EXPECT_EQ(score_rung({one(1.1, 1, 2.2, 2)}).verdict(), "hit");
    EXPECT_EQ(score_rung({one(2, 1, 4, 2)}).verdict(), "missed: time");
    EXPECT_EQ(score_rung({one(1, 1, 2, 1)}).verdict(), "missed: speed-up");
    EXPECT_EQ(score_rung({one(2, 1, 2, 2)}).verdict(), "missed: time, speed-up");
    EXPECT_EQ(score_rung({one(1, 1, 0, 0)}).verdict(), "hit");  // a first rung
    RungCase wrong = one(1, 1, 0, 0);
    wrong.passed = false;
    EXPECT_EQ(score_rung({wrong, one(1, 1, 0, 0)}).verdict(), "FAILED the gate");
}

TEST(LadderVerdict, half_of_the_speedups_is_not_enough) {
    EXPECT_EQ(score_rung({one(1, 1, 2, 2), one(1, 1, 2, 1)}).verdict(), "missed: speed-up");
    EXPECT_EQ(score_rung({one(1, 1, 2, 2), one(1, 1, 2, 2), one(1, 1, 2, 1)}).verdict(), "hit");
}

RungCase profiled(const char* predicted, const char* counted) {
    RungCase c = one(1, 1, 0, 0);
    c.counted = Counted{};
    c.counted->predicted_limiter = predicted;
    c.counted->limiter = counted;
    return c;
}

TEST(LadderVerdict, limiters_are_judged_where_they_were_counted) {
    const RungScore score =
        score_rung({one(1, 1, 0, 0), profiled("dram", "byte.smem_lsu"), profiled("dram", "dram")});
    EXPECT_EQ(score.profiled, 2);
    EXPECT_EQ(score.limiter_hits, 1);
    EXPECT_EQ(score.verdict(), "missed: limiter");  // half is not enough
    EXPECT_EQ(score_rung({profiled("dram", "dram")}).verdict(), "hit");
}

TEST(LadderVerdict, limiters_that_counters_cannot_tell_apart_are_one) {
    EXPECT_TRUE(limiter_hit("flop.wgmma.fp16", "flop.mma.fp16"));
    EXPECT_TRUE(limiter_hit("tail", "latency"));
    EXPECT_TRUE(limiter_hit("launch", "tail"));
    EXPECT_FALSE(limiter_hit("latency", "dram"));
    EXPECT_FALSE(limiter_hit("flop.fma.fp32", "flop.mma.fp16"));
    EXPECT_FALSE(limiter_hit("byte.smem_mma", "byte.smem_lsu"));
}

TEST(LadderVerdict, the_wrong_term_is_the_largest_disagreement) {
    Counted c;
    c.seconds = 10e-6;
    c.busy = {{"dram", 0.5}, {"op.issue", 0.2}};
    c.layer1 = {{"dram", 5e-6}, {"op.issue", 2e-6}};
    c.predicted_seconds = 6e-6;  // so 1 µs of waiting, where 5 were counted
    EXPECT_EQ(wrong_term(c).name, "waiting");
    EXPECT_NEAR(wrong_term(c).predicted, 1e-6, 1e-12);
    EXPECT_NEAR(wrong_term(c).counted, 5e-6, 1e-12);
    c.busy["byte.l2"] = 0.45;  // not predicted at all
    c.predicted_seconds = 10e-6;
    EXPECT_EQ(wrong_term(c).name, "byte.l2");
}

}  // namespace
}  // namespace raceline

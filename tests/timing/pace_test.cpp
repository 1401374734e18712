// SPDX-License-Identifier: Apache-2.0
#include "timing/pace.hpp"

#include <gtest/gtest.h>

namespace raceline {
namespace {

TEST(Pace, KnowsNothingBeforeACaseHasEnded) {
    EXPECT_FALSE(Pace({1, 1, 1}).left().has_value());
    Pace refused({0, 1});
    refused.took(0.001);
    EXPECT_FALSE(refused.left().has_value()) << "the first one did not run";
}

// Each takes 2 s, and a hundred times what is predicted.
TEST(Pace, SeesWhatEveryCaseTakesAndWhatTheModelSays) {
    Pace pace({0.01, 0.02, 0, 0.05, 0.10});
    pace.took(3);
    pace.took(4);
    ASSERT_TRUE(pace.left());
    EXPECT_NEAR(*pace.left(), (2 + 5) + (2 + 10), 1e-9);
    pace.took(0.001);
    pace.took(7);
    EXPECT_NEAR(*pace.left(), 12, 1e-9);
    pace.took(12);
    EXPECT_NEAR(*pace.left(), 0, 1e-9);
}

TEST(Pace, TakesTheMeanOfCasesThatAreAlike) {
    Pace pace({0.01, 0.01, 0.01, 0.01});
    pace.took(2);
    pace.took(4);
    EXPECT_NEAR(*pace.left(), 6, 1e-9);
}

// Where short ones took longer than long ones the model is no help.
TEST(Pace, IsNeverNegative) {
    Pace falling({1, 2, 3, 100});
    falling.took(9);
    falling.took(6);
    falling.took(3);
    EXPECT_NEAR(*falling.left(), 6, 1e-9);
    Pace steep({1, 2, 0.001});
    steep.took(1);
    steep.took(4);
    EXPECT_GE(*steep.left(), 0);
}

TEST(RoughDuration, IsAsExactAsAGuess) {
    EXPECT_EQ(rough_duration(0), "0 s");
    EXPECT_EQ(rough_duration(39.2), "40 s");
    EXPECT_EQ(rough_duration(119), "119 s");
    EXPECT_EQ(rough_duration(185), "3 min");
    EXPECT_EQ(rough_duration(4200), "70 min");
    EXPECT_EQ(rough_duration(4200 * 2), "2 h 20 min");
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "model/overlap.hpp"

#include <array>
#include <gtest/gtest.h>

namespace raceline {
namespace {

TEST(StepTime, WithoutGroupsEverythingIsLaidEndToEnd) {
    const std::array<double, 3> seconds{1, 2, 4};
    const std::array<std::uint32_t, 3> beside{};
    const StepTime time = step_time(seconds, beside);
    EXPECT_DOUBLE_EQ(time.seconds, 7);
    EXPECT_EQ(time.chain, 0b111U);
}

TEST(StepTime, OneGroupTakesItsLongest) {
    const std::array<double, 3> seconds{1, 5, 4};
    const std::array<std::uint32_t, 3> beside{0b111, 0b111, 0b111};
    const StepTime time = step_time(seconds, beside);
    EXPECT_DOUBLE_EQ(time.seconds, 5);
    EXPECT_EQ(time.chain, 0b010U);
}

TEST(StepTime, DisjointGroupsAddTheirLongest) {
    const std::array<double, 5> seconds{1, 5, 4, 3, 0.5};
    const std::array<std::uint32_t, 5> beside{0b00011, 0b00011, 0b01100, 0b01100, 0};
    const StepTime time = step_time(seconds, beside);
    EXPECT_DOUBLE_EQ(time.seconds, 5 + 4 + 0.5);
    EXPECT_EQ(time.chain, 0b10110U);
}

// What a CPU core does: three kinds of operations on the same ports, memory traffic beside them.
TEST(StepTime, MemoryBesideSeveralEnginesThatShareAPort) {
    const std::array<std::uint32_t, 4> beside{0b1111, 0b0001, 0b0001, 0b0001};
    const std::array<double, 4> compute_bound{5, 1, 2, 3};
    EXPECT_DOUBLE_EQ(step_time(compute_bound, beside).seconds, 6);
    EXPECT_EQ(step_time(compute_bound, beside).chain, 0b1110U);
    const std::array<double, 4> memory_bound{7, 1, 2, 3};
    EXPECT_DOUBLE_EQ(step_time(memory_bound, beside).seconds, 7);
    EXPECT_EQ(step_time(memory_bound, beside).chain, 0b0001U);
}

TEST(StepTime, ResourcesWithoutWorkAreNotInTheChain) {
    const std::array<double, 2> seconds{0, 2};
    const std::array<std::uint32_t, 2> beside{};
    EXPECT_EQ(step_time(seconds, beside).chain, 0b10U);
}

}  // namespace
}  // namespace raceline

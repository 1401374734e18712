// SPDX-License-Identifier: Apache-2.0
#include "device/ceiling_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "raceline/error.hpp"

namespace raceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Ceiling rate(const char* resource, double value, double limit = 0) {
    return {.resource = resource,
            .value = value,
            .unit = "flop/s",
            .clock_hz = 0,
            .power_w = 0,
            .method = "",
            .limit = limit};
}

TEST(Contradictions, none_in_what_fits) {
    EXPECT_THAT(contradictions(std::vector{
                    rate("flop.fma.fp32", 290e9, 350e9), rate("flop.fma.fp32.unit", 152e9, 153e9),
                    rate("byte.l1", 4e11), rate("byte.l2", 2e11), rate("byte.dram_read", 2e10)}),
                IsEmpty());
}

// As a busy machine had it: two cores below half of one.
TEST(Contradictions, all_cores_slower_than_one) {
    EXPECT_THAT(contradictions(std::vector{rate("flop.fma.fp32", 60e9, 306e9),
                                           rate("flop.fma.fp32.unit", 152e9, 153e9)}),
                ElementsAre(HasSubstr("slower than one of them")));
}

TEST(Contradictions, all_cores_far_from_a_limit_that_one_reaches) {
    EXPECT_THAT(contradictions(std::vector{rate("flop.fma.fp32", 155e9, 306e9),
                                           rate("flop.fma.fp32.unit", 152e9, 153e9)}),
                ElementsAre(HasSubstr("51 % of its limit")));
}

TEST(Contradictions, caches_and_bursts_out_of_order) {
    EXPECT_THAT(contradictions(std::vector{
                    rate("byte.l1", 1e11), rate("byte.l2", 2e11), rate("byte.dram_read", 3e11),
                    rate("flop.wgmma.bf16", 7e14), rate("flop.wgmma.bf16.burst", 6e14)}),
                ElementsAre(HasSubstr("a burst"), HasSubstr("byte.l1"), HasSubstr("byte.l2")));
}

TEST(Contradictions, are_measured_again_and_the_better_value_is_kept) {
    int runs = 0;
    const auto ceilings = probe_until_consistent([&] {
        ++runs;
        return std::vector{rate("flop.fma.fp32", runs == 1 ? 60e9 : 290e9, 306e9),
                           rate("flop.fma.fp32.unit", runs == 1 ? 152e9 : 140e9, 153e9)};
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(ceilings.at(0).value, 290e9);
    EXPECT_EQ(ceilings.at(1).value, 152e9);
}

TEST(Contradictions, that_stay_are_refused) {
    int runs = 0;
    try {
        (void)probe_until_consistent([&] {
            ++runs;
            return std::vector{rate("flop.fma.fp32", 60e9), rate("flop.fma.fp32.unit", 152e9)};
        });
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::internal);
        EXPECT_THAT(error.what(), HasSubstr("none is kept"));
    }
    EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "device/ceiling_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Contradictions, a_load_among_others_faster_than_one_alone) {
    const auto waits = [](double loaded) {
        return contradictions(
            std::vector{rate("latency.dram", 3.4e-7), rate("latency.dram.loaded", loaded)});
    };
    EXPECT_THAT(waits(4.5e-7), IsEmpty());
    EXPECT_THAT(waits(2.5e-7), ElementsAre(HasSubstr("one thread on an idle chip")));
}

}  // namespace
}  // namespace raceline

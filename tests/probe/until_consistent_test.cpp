// SPDX-License-Identifier: Apache-2.0
#include "probe/until_consistent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "raceline/error.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

Ceiling rate(const char* resource, double value) {
    Ceiling ceiling;
    ceiling.resource = resource;
    ceiling.value = value;
    ceiling.unit = "flop/s";
    return ceiling;
}

TEST(UntilConsistent, contradictions_are_measured_again_and_the_better_value_is_kept) {
    int runs = 0;
    const auto ceilings = probe_until_consistent([&] {
        ++runs;
        return std::vector{rate("flop.fma.fp32", runs == 1 ? 60e9 : 290e9),
                           rate("flop.fma.fp32.unit", runs == 1 ? 152e9 : 140e9)};
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(ceilings.at(0).value, 290e9);
    EXPECT_EQ(ceilings.at(1).value, 152e9);
}

TEST(UntilConsistent, contradictions_that_stay_are_refused) {
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

TEST(UntilConsistent, what_is_above_its_limit_is_measured_again) {
    int runs = 0;
    const auto probe = [&](int last_wrong) {
        return probe_until_consistent([&, last_wrong] {
            ++runs;
            Ceiling ceiling = rate("flop.fma.fp32", runs <= last_wrong ? 92e9 : 84e9);
            ceiling.limit = 86e9;
            return std::vector{ceiling};
        });
    };
    const auto ceilings = probe(1);
    EXPECT_EQ(runs, 2);
    ASSERT_EQ(ceilings.size(), 1U);
    EXPECT_EQ(ceilings.at(0).value, 84e9);
    runs = 0;
    EXPECT_THROW((void)probe(3), Error);
    EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace raceline

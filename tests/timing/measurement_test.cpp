// SPDX-License-Identifier: Apache-2.0
#include "timing/measurement.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

namespace raceline {
namespace {

void spin(double seconds) {
    const double end = monotonic_seconds() + seconds;
    while (monotonic_seconds() < end) {
    }
}

TEST(Measurement, times_the_call_and_nothing_else) {
    StopLimits limits;
    limits.max_samples = 15;
    limits.min_seconds = 0;
    // The untimed half is ten times the timed one: if it leaked in, the median would show it.
    const Measurement m = time_on_cpu([](int) { spin(2e-3); }, [](int) { spin(2e-4); }, limits);
    EXPECT_GE(m.seconds_median, 2e-4);
    EXPECT_LT(m.seconds_median, 1e-3);
    EXPECT_LE(m.seconds_low, m.seconds_median);
    EXPECT_GE(m.seconds_high, m.seconds_median);
    EXPECT_GT(m.sm_clock_hz, 5e8);
    EXPECT_LT(m.sm_clock_hz, 8e9);
}

TEST(Measurement, every_call_gets_the_next_input_set) {
    std::vector<int> prepared;
    std::vector<int> called;
    StopLimits limits;
    limits.max_samples = 5;
    (void)time_on_cpu([&](int i) { prepared.push_back(i); }, [&](int i) { called.push_back(i); },
                      limits);
    ASSERT_GE(called.size(), 5U);
    EXPECT_EQ(prepared, called);
    for (std::size_t i = 0; i < called.size(); ++i) {
        EXPECT_EQ(called[i], static_cast<int>(i));
    }
}

TEST(Measurement, survives_the_receipt) {
    Measurement m = summarize({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0});
    m.sm_clock_hz = 1.98e9;
    m.power_w = 512.5;
    m.settled = true;
    const Measurement back = measurement_from_json(measurement_to_json(m));
    EXPECT_EQ(back.seconds_median, 4.0);
    EXPECT_EQ(back.seconds_low, m.seconds_low);
    EXPECT_EQ(back.seconds_high, m.seconds_high);
    EXPECT_EQ(back.samples, 7);
    EXPECT_EQ(back.sm_clock_hz, 1.98e9);
    EXPECT_EQ(back.power_w, 512.5);
    EXPECT_TRUE(back.settled);
}

}  // namespace
}  // namespace raceline

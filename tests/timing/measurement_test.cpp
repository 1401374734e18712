// SPDX-License-Identifier: Apache-2.0
#include "timing/measurement.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "receipt/rows.hpp"

namespace raceline {
namespace {

TEST(Measurement, survives_the_receipt) {
    Measurement m = summarize({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0});
    m.sm_clock_hz = 1.98e9;
    m.power_w = 512.5;
    m.settled = true;
    const Measurement back = row_from_json<Measurement>(row_to_json(m));
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

// SPDX-License-Identifier: Apache-2.0
// How CTAs of one unit hide each other's latency: the queue against hand-worked values and bounds.
#include <algorithm>
#include <gtest/gtest.h>

#include "model/waves.hpp"
#include "tests/model/model_fixtures.hpp"

namespace raceline {
namespace {

TEST(WaitingResidents, two_of_them_by_hand) {
    // Alone 4 s, 1 s of them on the resource: queue(1) = 1/4, response(2) = 1 x 5/4 + 3.
    EXPECT_DOUBLE_EQ(resident_seconds(4, 1, 1), 4);
    EXPECT_DOUBLE_EQ(resident_seconds(4, 1, 2), 4.25);
    // queue(2) = 2 x 1.25 / 4.25.
    EXPECT_DOUBLE_EQ(resident_seconds(4, 1, 3), 1 + 2 * 1.25 / 4.25 + 3);
}

TEST(WaitingResidents, without_delay_they_take_turns) {
    for (int n = 1; n < 20; ++n) {
        EXPECT_DOUBLE_EQ(resident_seconds(2, 2, n), 2.0 * n);
        EXPECT_DOUBLE_EQ(resident_seconds(3, 0, n), 3);
    }
}

TEST(WaitingResidents, never_beat_the_chain_nor_the_resource_and_grow_with_each) {
    for (double serial : {1.0, 2.0, 8.0}) {
        for (double busy : {0.1, 0.5, 1.0}) {
            double before = 0;
            for (int n = 1; n <= 32; ++n) {
                const double now = resident_seconds(serial, busy, n);
                EXPECT_GE(now * (1 + 1e-12), std::max(serial, n * busy));
                EXPECT_LE(now, serial + (n - 1) * busy + 1e-12);
                EXPECT_GE(now, before);
                EXPECT_LE(now, resident_seconds(serial * 1.1, busy, n) * (1 + 1e-12));
                EXPECT_LE(now, resident_seconds(serial, busy * 1.1, n) + 1e-12);
                before = now;
            }
        }
    }
}

TEST(WaitingResidents, the_heaviest_meets_fewer_and_fewer) {
    // Even CTAs: all are there until the end. From 0 to twice the mean: 1, 2 and 3 for a third
    // each.
    EXPECT_DOUBLE_EQ(heaviest_seconds(4, 1, 3, 1), resident_seconds(4, 1, 3));
    const double mean =
        (resident_seconds(4, 1, 1) + resident_seconds(4, 1, 2) + resident_seconds(4, 1, 3)) / 3;
    EXPECT_DOUBLE_EQ(heaviest_seconds(4, 1, 3, 2), mean);
}

TEST(WaitingResidents, a_chain_of_instructions_counts_where_it_is_longer_than_the_work) {
    Device gpu = gpu10();
    gpu.clock_hz = 1e9;
    Counts c = counts_of({{"flop.fma.fp32", 1e7}}, 10);  // 1 us of a unit each
    c.threads = 128;
    c.steps = {{.name = "loop", .repeat = 1, .work = {{"flop.fma.fp32", 1e6}}, .waits = ""}};
    const double bound = predict_one(gpu, c).seconds;
    EXPECT_DOUBLE_EQ(bound, 1e-6);
    c.steps[0].clocks = 500;
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, bound);
    c.steps[0].clocks = 3000;
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 3e-6);
    EXPECT_DOUBLE_EQ(term(predict_one(gpu, c), "latency"), 2e-6);
    gpu.clock_hz = 0;  // not known: not charged
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, bound);
}

// Ten units; what a CTA needs with others beside it is the kernel's word, whatever the queue says.
TEST(CountedTogether, residents_take_what_the_kernel_counts) {
    Device gpu = gpu10();
    gpu.clock_hz = 1e9;
    Counts c = counts_of({{"flop.fma.fp32", 1e7}}, 10);  // 1 us of a unit each
    c.threads = 128;
    c.steps = {{.name = "loop", .repeat = 2, .work = {{"flop.fma.fp32", 5e5}}, .waits = ""}};
    c.steps[0].clocks = 3000;
    c.steps[0].clocks_together = {3500, 4500};
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 6e-6);
    c.work["flop.fma.fp32"] *= 2;
    c.ctas = 20;
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 7e-6);
    c.work["flop.fma.fp32"] *= 2;
    c.ctas = 40;  // more than the kernel counts: as with three
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 9e-6);
    c.steps[0].clocks_together = {1000, 1000};  // but never less than the unit's resource
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 4e-6);
}

// Sizes from 0 to twice the mean: the heaviest has three, two and no others for a third each.
TEST(CountedTogether, the_heaviest_meets_fewer_and_fewer) {
    Device gpu = gpu10();
    gpu.clock_hz = 1e9;
    Counts c = counts_of({{"flop.fma.fp32", 1e6}}, 30);
    c.threads = 128;
    c.imbalance = 2;
    c.balanced_order = true;
    c.steps = {{.name = "loop", .repeat = 1, .work = {}, .waits = ""}};
    c.steps[0].clocks = 3000;
    c.steps[0].clocks_together = {3600, 4500};
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, (3000 + 3600 + 4500) / 3.0 * 1e-9);
}

// Products of all residents share the time of each: power pulls the clock down the further.
TEST(CountedTogether, the_clock_falls_with_the_products_of_all_residents) {
    Device gpu = gpu10();
    gpu.clock_hz = 2e9;
    gpu.sustained_clock_hz = 1e9;
    Counts c = counts_of({{"flop.wgmma.bf16", 1e8}}, 10);  // 1 us of a unit each
    c.threads = 128;
    c.steps = {{.name = "loop", .repeat = 1, .work = {{"flop.wgmma.bf16", 1e7}}, .waits = ""}};
    c.steps[0].clocks = 8000;  // 4 us at 2 GHz, half a microsecond of them products
    c.steps[0].clocks_together = {8000};
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 8000 / (2e9 - 1e9 / 8));
    c.work["flop.wgmma.bf16"] *= 2;
    c.ctas = 20;
    EXPECT_DOUBLE_EQ(predict_one(gpu, c).seconds, 8000 / (2e9 - 1e9 / 4));
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// How CTAs of one unit hide each other's latency: the queue against hand-worked values and bounds.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "model/constant.hpp"
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

// Ten units with a scheduler's slots and a shared memory of 128 bytes a clock each, at 1 GHz.
Device gpu_with_ports() {
    Device gpu = gpu10();
    gpu.clock_hz = 1e9;
    gpu.rates["op.issue"] = Rate{.value = 10 * 128e9, .source = "test", .clock_hz = 0, .note = ""};
    gpu.rates["byte.smem_lsu"] = gpu.rates["op.issue"];
    return gpu;
}

// One step of `clocks`, with instructions and bytes of shared memory a warp.
Counts step_of(int warps, std::int64_t ctas, double clocks, double instructions, double accesses) {
    const Work work{{"op.issue", instructions * 32 * warps},
                    {"byte.smem_lsu", accesses * 128 * warps}};
    Counts c = counts_of(work * static_cast<double>(ctas), ctas);
    c.threads = 32 * warps;
    c.steps = {{.name = "loop", .repeat = 1, .work = work, .waits = ""}};
    c.steps[0].clocks = clocks;
    return c;
}

double clocks_of(const Counts& c) {
    return predict_one(gpu_with_ports(), c).seconds * 1e9;
}

TEST(WarpsInLine, one_warp_takes_its_chain_or_its_work) {
    EXPECT_NEAR(clocks_of(step_of(1, 10, 1000, 300, 100)), 1000, 1e-6);
    // 400 instructions a clock each by its one scheduler.
    EXPECT_NEAR(clocks_of(step_of(1, 10, 100, 400, 100)), 400 + 100, 1e-6);
}

// Four warps have a scheduler each; the last one's accesses wait for those of three others.
TEST(WarpsInLine, the_last_warp_finds_its_siblings_at_shared_memory) {
    EXPECT_NEAR(clocks_of(step_of(4, 10, 1000, 300, 100)), 1000 + 3 * 100, 1e-6);
    const ConstantWatch watch(ConstantWatch::Calibrated::stand_in);
    EXPECT_LT(clocks_of(step_of(4, 10, 1000, 300, 100)), 1000 + 3 * 100 - 100);
    EXPECT_GT(clocks_of(step_of(4, 10, 1000, 300, 100)), 1000);
}

// Eight warps are two at a scheduler. Wait w = 300 s, s = (300 + w) / (1000 + w) being the share of
// its time that the other one is there: w^2 + 700 w - 90000 = 0. The iteration ends at a
// millionth.
TEST(WarpsInLine, at_a_scheduler_they_meet_by_chance) {
    const double wait = (-700 + std::sqrt(700.0 * 700 + 4 * 90000)) / 2;
    EXPECT_NEAR(clocks_of(step_of(8, 10, 1000, 300, 0)), 1000 + wait, 1e-3);
    // Two CTAs of four warps, two at a scheduler again.
    EXPECT_NEAR(clocks_of(step_of(4, 20, 1000, 300, 0)), 1000 + wait, 1e-3);
}

TEST(WarpsInLine, never_under_the_chain_nor_the_work_and_grow_with_each) {
    for (const int warps : {1, 2, 4, 16}) {
        for (const double accesses : {0.0, 50.0, 400.0}) {
            for (const double instructions : {10.0, 500.0}) {
                double before = 0;
                for (std::int64_t residents = 1; residents <= 4; ++residents) {
                    const Counts c = step_of(warps, 10 * residents, 800, instructions, accesses);
                    const double now = clocks_of(c);
                    const auto all = static_cast<double>(warps * residents);
                    EXPECT_GE(now * (1 + 1e-9), 800);
                    EXPECT_GE(now * (1 + 1e-9), all * accesses);
                    EXPECT_GE(now * (1 + 1e-9), all * instructions / 4);
                    EXPECT_LE(now, 800 + instructions + all * (instructions + accesses));
                    EXPECT_GE(now * (1 + 1e-9), before);
                    before = now;
                }
            }
        }
    }
}

TEST(WarpsInLine, a_kernel_that_counts_its_warps_is_left_alone) {
    Counts c = step_of(4, 10, 1000, 300, 100);
    c.warps_counted = true;
    EXPECT_NEAR(clocks_of(c), 1000, 1e-6);
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

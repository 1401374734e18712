// SPDX-License-Identifier: Apache-2.0
// The clock as a result: what a board's limit leaves, on the H200 whose meter was read and on
// boards that nobody measured.
#include "device/power.hpp"

#include <gtest/gtest.h>
#include <utility>

#include "device/catalog.hpp"

namespace raceline {
namespace {

Device committed(const char* id) {
    Device device = datasheet_device(id);
    apply_committed_rates(device);
    return device;
}

// Products without a pause, at the rate that the highest clock would allow.
double clock_of_products(const Device& device, const std::string& id) {
    const Rate& rate = device.rates.at(id);
    return clock_within_limit(device,
                              draw_of(device, id, rate.value * device.clock_hz / rate.clock_hz));
}

TEST(Power, IdlingTakesWhatItTakesAndTheHighestClock) {
    const Device device = committed("h200");
    ASSERT_TRUE(device.power.known());
    EXPECT_DOUBLE_EQ(watts_at(device.power, {}, 1), device.power.idle_w);
    EXPECT_DOUBLE_EQ(clock_within_limit(device, {}), device.clock_hz);
}

TEST(Power, TheClockIsTheOneAtWhichTheLimitIsMet) {
    const Device device = committed("h200");
    double before = device.clock_hz;
    for (double watts = 100; watts < 3000; watts += 100) {
        const PowerDraw draw{.chip_w = watts, .memory_w = watts / 10};
        const double clock = clock_within_limit(device, draw);
        EXPECT_LE(clock, before) << watts << " W: more work never leaves a higher clock";
        const double met = watts_at(device.power, draw, clock / device.clock_hz);
        if (clock < device.clock_hz) {
            EXPECT_NEAR(met, device.power.limit_w, 0.1) << watts;
        } else {
            EXPECT_LE(met, device.power.limit_w);
        }
        before = clock;
    }
    EXPECT_LT(before, 0.8 * device.clock_hz);
}

TEST(Power, ADeviceOfUnknownWattsKeepsItsClock) {
    Device device = committed("h200");
    device.power.joules.clear();
    EXPECT_DOUBLE_EQ(clock_within_limit(device, {.chip_w = 5000, .memory_w = 0}), device.clock_hz);
}

// Energies were measured at the highest clock on parts of the chip, and the clock under lasting
// products by another probe on another day and board: one follows from the other but for
// what boards differ.
TEST(Power, EnergiesOfAnH200ExplainTheClocksOfItsLastingProducts) {
    const Device device = committed("h200");
    for (const char* id :
         {"flop.wgmma.bf16", "flop.wgmma.fp16", "flop.wgmma.e4m3", "flop.wgmma.tf32"}) {
        const double measured = device.rates.at(id).clock_hz;
        ASSERT_GT(measured, 0) << id;
        EXPECT_NEAR(clock_of_products(device, id) / measured, 1, 0.15) << id;
    }
}

TEST(Power, OneDieGivesOneAnswerButForClocksMemoryAndLimit) {
    const Device h200 = committed("h200");
    const Device gh200 = committed("gh200");
    const Device pcie = committed("h100-pcie");
    const char* products = "flop.wgmma.bf16";
    for (const char* engine : {products, "flop.wgmma.e4m3", "flop.mma.bf16", "flop.mma.fp16"}) {
        EXPECT_NEAR(gh200.rates.at(engine).value / h200.rates.at(engine).value, 1, 0.01) << engine;
    }
    EXPECT_NEAR(gh200.sustained_clock_hz / h200.sustained_clock_hz, 1, 0.01);
    EXPECT_FALSE(gh200.power.sets_clock()) << "its die was seen with as many watts";
    EXPECT_TRUE(pcie.power.sets_clock());
    EXPECT_DOUBLE_EQ(gh200.power.joules.at(products), h200.power.joules.at(products));
    // Half the watts: fewer SMs at a lower clock.
    EXPECT_LT(pcie.rates.at(products).clock_hz, 0.9 * gh200.rates.at(products).clock_hz);
    EXPECT_LT(pcie.rates.at(products).value, 0.8 * gh200.rates.at(products).value);
}

// Its own meter was read, and comes before what another board's says.
TEST(Power, ABoardsOwnMeterCounts) {
    const Device sxm = committed("h100-sxm");
    EXPECT_NE(sxm.power.joules.at("flop.wgmma.bf16"),
              committed("h200").power.joules.at("flop.wgmma.bf16"));
    EXPECT_NEAR(
        sxm.rates.at("flop.wgmma.bf16").value / committed("h200").rates.at("flop.wgmma.bf16").value,
        1, 0.15);
}

TEST(Power, SmallBoardsFallToWhatTheirWattsHold) {
    for (const auto& [id, most] : {std::pair{"l4", 0.9}, {"t4", 0.8}, {"h100-pcie", 0.85}}) {
        const Device device = committed(id);
        EXPECT_LT(device.sustained_clock_hz, most * device.clock_hz) << id;
        EXPECT_GT(device.sustained_clock_hz, 0.4 * device.clock_hz) << id;
    }
    const Device large = committed("rtx4090");
    EXPECT_GT(large.sustained_clock_hz, 0.95 * large.clock_hz);
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "model/occupancy.hpp"

#include <gtest/gtest.h>

#include "model_fixtures.hpp"
#include "raceline/error.hpp"

namespace raceline {
namespace {

Counts launch(int threads, int registers, std::int64_t smem) {
    Counts counts = counts_of({}, 1);
    counts.threads = threads;
    counts.registers = registers;
    counts.smem_bytes = smem;
    return counts;
}

Device gpu() {
    Device device = gpu10();
    device.ctas_per_unit = 32;
    return device;
}

TEST(Occupancy, ACoreRunsOneTask) {
    EXPECT_EQ(occupancy(cpu4(), launch(1, 0, 0)), 1);
}

TEST(Occupancy, LeastOfTheLimits) {
    EXPECT_EQ(occupancy(gpu(), launch(32, 32, 0)), 32) << "CTAs a unit";
    EXPECT_EQ(occupancy(gpu(), launch(1024, 32, 0)), 2) << "threads";
    // 8 warps × 128 × 32 registers = 32768 of 65536.
    EXPECT_EQ(occupancy(gpu(), launch(256, 128, 0)), 2) << "registers";
    // 233472 / (65536 + 1024 kept by the driver) = 3.5.
    EXPECT_EQ(occupancy(gpu(), launch(128, 32, 65536)), 3) << "shared memory";
}

TEST(Occupancy, RegistersAreGivenInPortions) {
    // 72 × 32 = 2304 is 9 portions of 256: 7 warps in each of four partitions of 16384 registers;
    // 73 rounds up to 2560: 6 in each.
    EXPECT_EQ(occupancy(gpu(), launch(128, 72, 0)), 7);
    EXPECT_EQ(occupancy(gpu(), launch(128, 73, 0)), 6);
    // One warp of 255 takes 8192: two in each partition.
    EXPECT_EQ(occupancy(gpu(), launch(32, 255, 0)), 8);
}

TEST(Occupancy, BeforeAmpereTheDriverKeepsNothing) {
    Device device = gpu();
    device.compute_capability = 75;
    device.smem_bytes_per_unit = 65536;
    EXPECT_EQ(occupancy(device, launch(64, 32, 32768)), 2);
    device.compute_capability = 80;
    EXPECT_EQ(occupancy(device, launch(64, 32, 32768)), 1);
}

TEST(Occupancy, UnknownLimitsAreLeftOut) {
    Device device = gpu();
    device.registers_per_unit = 0;
    device.threads_per_unit = 0;
    device.smem_bytes_per_unit = 0;
    EXPECT_EQ(occupancy(device, launch(1024, 255, 1000)), 32);
}

TEST(Occupancy, ACtaThatDoesNotFitIsRefused) {
    for (const Counts& counts : {launch(128, 32, 232449), launch(1024, 128, 0)}) {
        try {
            occupancy(gpu(), counts);
            FAIL() << "accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::unsupported);
            EXPECT_NE(std::string(error.what()).find("'main'"), std::string::npos);
        }
    }
}

TEST(Slots, WholeClustersOnly) {
    EXPECT_EQ(slots(132, 1, 1), 132);
    EXPECT_EQ(slots(10, 3, 4), 28);
    EXPECT_EQ(slots(1, 1, 2), 2) << "one cluster always runs";
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "model/residency.hpp"

#include <gtest/gtest.h>

#include "model_fixtures.hpp"

namespace raceline {
namespace {

TEST(HitFraction, FullUpToCapacityNothingFromTwice) {
    EXPECT_DOUBLE_EQ(hit_fraction(0, 100), 1);
    EXPECT_DOUBLE_EQ(hit_fraction(100, 100), 1);
    EXPECT_DOUBLE_EQ(hit_fraction(125, 100), 0.75);
    EXPECT_DOUBLE_EQ(hit_fraction(200, 100), 0);
    EXPECT_DOUBLE_EQ(hit_fraction(1000, 100), 0);
    EXPECT_DOUBLE_EQ(hit_fraction(1, 0), 0) << "no cache";
}

TEST(Rereads, EachIsSplitByItsOwnFootprint) {
    const std::vector<Reread> rereads{{1000, 50}, {400, 150}, {70, 300}};
    Device cpu = cpu4();
    cpu.llc_bytes = 100;
    const RereadSplit split = split_rereads(cpu, rereads);
    EXPECT_DOUBLE_EQ(split.cache, 1000 + 200);
    EXPECT_DOUBLE_EQ(split.dram, 200 + 70);
}

// An L2 of 100 bytes in two halves: what both halves read has one half's size, what each SM reads
// for itself the whole.
TEST(Rereads, OfBothHalvesOfAnL2FitOneHalf) {
    Device gpu = gpu10();
    gpu.l2_bytes = gpu.llc_bytes = 100;
    const auto hits = [&](double footprint, bool by_same_unit) {
        const std::vector<Reread> rereads{{1000, footprint, by_same_unit}};
        const RereadSplit split = split_rereads(gpu, rereads);
        EXPECT_DOUBLE_EQ(split.cache + split.dram, 1000);
        return split.cache;
    };
    EXPECT_DOUBLE_EQ(hits(60, false), 1000) << "in one piece";
    gpu.rates["size.l2.half"].value = 50;
    EXPECT_DOUBLE_EQ(hits(44, false), 1000);
    EXPECT_NEAR(hits(50, false), 500, 1e-6);
    EXPECT_DOUBLE_EQ(hits(60, false), 0) << "each half would hold all of it";
    EXPECT_DOUBLE_EQ(hits(60, true), 1000);
    EXPECT_DOUBLE_EQ(hits(100, true), 0);
}

// 1 MB from DRAM at 1 TB/s takes 1 us; half of it passes a link of 0.25 TB/s in 2 us.
TEST(Link, BetweenTheHalvesOfAnL2CarriesHalfOfWhatDramMoves) {
    Device gpu = gpu10();
    const Counts stream = counts_of({{"byte.dram_read", 1e6}}, 10);
    const double before = predict_one(gpu, stream).seconds;
    gpu.rates["byte.l2_link"].value = 1e12;
    EXPECT_DOUBLE_EQ(predict_one(gpu, stream).seconds, before) << "wide enough";
    gpu.rates["byte.l2_link"].value = 2.5e11;
    const Prediction narrow = predict_one(gpu, stream);
    EXPECT_EQ(narrow.limiter, "byte.l2_link");
    EXPECT_NEAR(term(narrow, "byte.l2_link"), 2e-6, 1e-15);
    EXPECT_EQ(term(narrow, "dram"), 0) << "beside it";

    // What both halves read again is copied once to the half where it is not at home.
    Counts again = counts_of({{"byte.l2", 9e6}}, 10);
    gpu.rates["size.l2.half"].value = 5e5;
    again.reread = {{8e6, 4e5}};
    EXPECT_NEAR(copied_between_halves(gpu, again.reread), 2e5, 1e-6);
    again.reread = {{8e6, 4e5, true}};
    EXPECT_EQ(copied_between_halves(gpu, again.reread), 0) << "each its own";
}

// 4 cores share 1 MB and read it at 200 GB/s, DRAM at 100: 2 MB from the cache take 10 µs, from
// DRAM 20 µs, on top of 1 MB of first reads, 10 µs, all side by side.
TEST(Rereads, AreServedByTheCacheIfTheyFit) {
    Counts counts = counts_of({{"byte.dram_read", 1e6}}, 4);
    counts.reread = {{2e6, 500e3}};
    const Prediction fits = predict_one(cpu4(), counts);
    EXPECT_NEAR(fits.seconds, 10e-6, 1e-15) << "cache and DRAM overlap";
    counts.reread = {{2e6, 2e6}};
    const Prediction spills = predict_one(cpu4(), counts);
    EXPECT_NEAR(spills.seconds, 30e-6, 1e-15);
    EXPECT_EQ(spills.limiter, "dram");
    counts.reread = {{4e6, 500e3}};
    const Prediction cache_bound = predict_one(cpu4(), counts);
    EXPECT_NEAR(cache_bound.seconds, 20e-6, 1e-15);
    EXPECT_EQ(cache_bound.limiter, "byte.llc");
}

TEST(Rereads, AreNotChargedTwiceWhereTheKernelCountsTheCache) {
    Counts counts = counts_of({{"byte.dram_read", 1e6}, {"byte.llc", 5e6}}, 4);
    counts.reread = {{4e6, 500e3}};
    counts.overlap = {{"byte.dram_read", "byte.llc"}};
    EXPECT_NEAR(predict_one(cpu4(), counts).seconds, 25e-6, 1e-15);
}

TEST(Rereads, MissesGoToTheStepsThatMoveMemory) {
    Counts counts = counts_of({{"byte.dram_read", 1e6}, {"flop.fma.fp32", 4e6}}, 4);
    counts.reread = {{1e6, 5e6}};
    // A core's share: 0.25 MB at 25 GB/s = 10 µs, as much again for the misses; 1 µs of flops.
    counts.steps = {{"load", 10, {{"byte.dram_read", 25e3}}, ""},
                    {"compute", 1, {{"flop.fma.fp32", 1e6}}, ""}};
    const Prediction prediction = predict_one(cpu4(), counts);
    EXPECT_NEAR(term(prediction, "dram"), 20e-6, 1e-15);
    EXPECT_NEAR(term(prediction, "flop.fma.fp32"), 1e-6, 1e-15);
}

TEST(WarmCall, ReadsWhatFitsFromTheLastCache) {
    const Counts counts = counts_of({{"byte.dram_read", 800e3}}, 4);
    EXPECT_NEAR(predict_one(cpu4(), counts, {.cold = true}).seconds, 8e-6, 1e-15);
    const Prediction warm = predict_one(cpu4(), counts, {.cold = false});
    EXPECT_NEAR(warm.seconds, 4e-6, 1e-15);
    EXPECT_EQ(warm.limiter, "byte.llc");
    const Counts large = counts_of({{"byte.dram_read", 8e6}}, 4);
    EXPECT_NEAR(predict_one(cpu4(), large, {.cold = false}).seconds, 80e-6, 1e-15);
}

TEST(WarmCall, CountsTheFootprintOfAllLaunches) {
    const std::vector<Counts> two{counts_of({{"byte.dram_read", 800e3}}, 4),
                                  counts_of({{"byte.dram_write", 700e3}}, 4)};
    // 1.5 MB on 1 MB of cache: half of the reads hit, 4 µs DRAM beside 2 µs cache; writes 14 µs.
    const Prediction warm = predict(cpu4(), two, {.cold = false});
    EXPECT_NEAR(term(warm, "dram"), 4e-6 + 14e-6, 1e-15);
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Every layer-2 term with numbers worked out by hand. A core of cpu4() does 1 Tflop/s or 100 Gop/s
// and, with all four at work, reads 25 GB/s; an SM of gpu10() does 1 Tflop/s and reads 100 GB/s.
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_fixtures.hpp"
#include "raceline/error.hpp"

namespace raceline {
namespace {

constexpr double us = 1e-6;
constexpr double tiny = 1e-14;

// One step of `work` a CTA, `ctas` equal ones.
Counts equal_ctas(const Work& work, std::int64_t ctas) {
    Work total = work;
    for (auto& [id, amount] : total) {
        amount *= static_cast<double>(ctas);
    }
    Counts counts = counts_of(total, ctas);
    counts.steps = {{"all", 1, work, ""}};
    return counts;
}

TEST(Serial, EnginesEndToEndMemoryBeside) {
    Counts counts = equal_ctas({{"flop.fma.fp32", 6e6},    // 6 µs
                                {"op.exp", 2e5},           // 2 µs
                                {"op.simd", 1e5},          // 1 µs
                                {"byte.dram_read", 1e5}},  // 4 µs
                               4);
    counts.overlap = {{"flop.fma.fp32", "byte.dram_read"},
                      {"op.exp", "byte.dram_read"},
                      {"op.simd", "byte.dram_read"}};
    const Prediction prediction = predict_one(cpu4(), counts);
    EXPECT_NEAR(prediction.seconds, 9 * us, tiny);
    EXPECT_NEAR(term(prediction, "flop.fma.fp32"), 6 * us, tiny);
    EXPECT_NEAR(term(prediction, "op.exp"), 2 * us, tiny);
    EXPECT_NEAR(term(prediction, "op.simd"), 1 * us, tiny);
    EXPECT_EQ(term(prediction, "dram"), 0) << "hidden";
    EXPECT_EQ(prediction.limiter, "flop.fma.fp32");
    EXPECT_NEAR(prediction.layer1.bound_seconds, 6 * us, tiny);
    counts.overlap.clear();
    EXPECT_NEAR(predict_one(cpu4(), counts).seconds, 13 * us, tiny) << "nothing overlaps";
}

TEST(Serial, StepsRepeatAndAdd) {
    Counts counts = counts_of({{"flop.fma.fp32", 4 * 7e6}}, 4);
    counts.steps = {{"prologue", 1, {{"flop.fma.fp32", 1e6}}, ""},
                    {"loop", 3, {{"flop.fma.fp32", 2e6}}, ""}};
    EXPECT_NEAR(predict_one(cpu4(), counts).seconds, 7 * us, tiny);
}

TEST(Serial, ACtaAloneReachesWhatAUnitReachesAlone) {
    Device device = cpu4();
    const Counts one = equal_ctas({{"byte.dram_read", 1e6}}, 1);
    EXPECT_NEAR(predict_one(device, one).seconds, 40 * us, tiny) << "a fourth of 100 GB/s";
    device.rates["byte.dram_read.unit"].value = 5e10;
    EXPECT_NEAR(predict_one(device, one).seconds, 20 * us, tiny) << "50 GB/s";
    const Counts four = equal_ctas({{"byte.dram_read", 1e6}}, 4);
    EXPECT_NEAR(predict_one(device, four).seconds, 40 * us, tiny) << "four share 100 GB/s";
    EXPECT_NEAR(term(predict_one(device, four), "dram"), 40 * us, tiny);
    // End to end with 10 µs of flops, all four share the DRAM while they read.
    const Counts mixed = equal_ctas({{"byte.dram_read", 1e6}, {"flop.fma.fp32", 10e6}}, 4);
    EXPECT_NEAR(predict_one(device, mixed).seconds, 50 * us, tiny);
}

TEST(Serial, FewerThreadsAreFewerCores) {
    const Counts four = equal_ctas({{"flop.fma.fp32", 1e6}}, 4);
    EXPECT_NEAR(predict_one(cpu4(), four, {.threads = 3}).seconds, 2 * us, tiny);
    EXPECT_NEAR(predict_one(cpu4(), four, {.threads = 9}).seconds, 1 * us, tiny);
    EXPECT_NEAR(predict_one(gpu10(), four, {.threads = 1}).seconds, 1 * us, tiny) << "CPU only";
}

TEST(Dram, ReadsAndWritesAddUpInOneResource) {
    const Counts counts = counts_of({{"byte.dram_read", 1e6}, {"byte.dram_write", 1e6}}, 4);
    const Prediction prediction = predict_one(cpu4(), counts);
    EXPECT_NEAR(prediction.layer1.seconds.at("dram"), 10 * us + 20 * us, tiny);
    EXPECT_NEAR(term(prediction, "dram"), 30 * us, tiny);
    Device no_write = cpu4();
    no_write.rates.erase("byte.dram_write");
    EXPECT_NEAR(predict_one(no_write, counts).seconds, 20 * us, tiny);
}

TEST(Residents, OverlapEachOtherUntilAResourceIsFull) {
    const Work work{{"flop.fma.fp32", 3e6}, {"byte.dram_read", 1e5}};  // 3 µs and 1 µs
    EXPECT_NEAR(predict_one(gpu10(), equal_ctas(work, 10)).seconds, 4 * us, tiny);
    // Two on an SM: 2 × 3 µs of FMA exceed one CTA's 4 µs.
    const Prediction two = predict_one(gpu10(), equal_ctas(work, 20));
    EXPECT_NEAR(two.seconds, 6 * us, tiny);
    EXPECT_NEAR(term(two, "flop.fma.fp32"), 6 * us, tiny);
    EXPECT_EQ(term(two, "dram"), 0);
}

TEST(Waves, ThePartlyFilledLastOneIsTail) {
    const Work work{{"flop.fma.fp32", 1e6}};  // 1 µs
    const Prediction two = predict_one(cpu4(), equal_ctas(work, 8));
    EXPECT_NEAR(two.seconds, 2 * us, tiny);
    EXPECT_EQ(term(two, "tail"), 0);
    const Prediction nine = predict_one(cpu4(), equal_ctas(work, 9));
    EXPECT_NEAR(nine.seconds, 3 * us, tiny);
    EXPECT_NEAR(term(nine, "flop.fma.fp32"), 2.25 * us, tiny);
    EXPECT_NEAR(term(nine, "tail"), 0.75 * us, tiny);
}

TEST(Waves, AFewResidentsInTheLastWaveAreFaster) {
    // 40 slots: 4 CTAs an SM take 4 × 1 µs; the 5 of the second wave have an SM each: 1 µs.
    EXPECT_NEAR(predict_one(gpu10(), equal_ctas({{"flop.fma.fp32", 1e6}}, 45)).seconds, 5 * us,
                tiny);
}

TEST(Waves, UnitsWithoutACtaAreTail) {
    const Prediction one = predict_one(gpu10(), equal_ctas({{"flop.fma.fp32", 10e6}}, 1));
    EXPECT_NEAR(one.seconds, 10 * us, tiny);
    EXPECT_NEAR(term(one, "flop.fma.fp32"), 1 * us, tiny);
    EXPECT_NEAR(term(one, "tail"), 9 * us, tiny);
    EXPECT_EQ(one.limiter, "tail");
    // A single core that fills the DRAM alone leaves nothing for others: no tail.
    Device device = cpu4();
    device.rates["byte.dram_read.unit"].value = 1e11;
    const Prediction full = predict_one(device, equal_ctas({{"byte.dram_read", 1e6}}, 1));
    EXPECT_NEAR(term(full, "dram"), 10 * us, tiny);
    EXPECT_EQ(full.limiter, "dram");
}

// What is waited for goes by whether units hold a CTA, as counters see it: of a chain of waits in
// few CTAs more of them would help, whatever each of them waits for.
TEST(Waves, WaitingIsTailWhereMostUnitsAreEmpty) {
    const auto limiter_of = [](std::int64_t ctas, double imbalance, double start = 0) {
        Counts counts = equal_ctas({{"flop.fma.fp32", 1e3}}, ctas);
        counts.imbalance = imbalance;
        counts.steps = {{"chain", 1, {{"flop.fma.fp32", 1e3}}, "latency.dram"}};
        Device device = gpu10();
        device.rates["latency.dram"].value = 10 * us;
        device.rates["floor.cta"].value = start;
        return predict_one(device, counts).limiter;
    };
    EXPECT_EQ(limiter_of(5, 1), "tail");
    EXPECT_EQ(limiter_of(7, 1), "latency") << "three of ten are empty";
    EXPECT_EQ(limiter_of(7, 1, 1 * us), "latency") << "and seven for a tenth of the time";
    EXPECT_EQ(limiter_of(7, 1, 2 * us), "tail") << "seven are empty for a fifth of the time";
    EXPECT_EQ(limiter_of(10, 1), "latency");
    EXPECT_EQ(limiter_of(10, 2), "tail") << "on average they are done at half of the time";
    // Slots for 4 on each unit: 41 CTAs are a full wave and one of a single unit.
    EXPECT_EQ(limiter_of(41, 1), "tail") << "half of the time nine of ten are empty";
    EXPECT_EQ(limiter_of(44, 1), "latency");
}

// A causal triangle: mean 1 µs, heaviest 2 µs, 16 CTAs on 4 cores.
Counts triangle(bool balanced, std::int64_t ctas) {
    Counts counts = counts_of({{"flop.fma.fp32", 1e6 * static_cast<double>(ctas)}}, ctas);
    counts.imbalance = 2;
    counts.balanced_order = balanced;
    counts.steps = {{"all", 1, {{"flop.fma.fp32", 2e6}}, ""}};
    return counts;
}

TEST(Imbalance, InOrderTheHeaviestEndsLast) {
    const Prediction in_order = predict_one(cpu4(), triangle(false, 16));
    EXPECT_NEAR(in_order.seconds, 4 * us + 1 * us, tiny);
    EXPECT_NEAR(term(in_order, "tail"), 1 * us, tiny);
    EXPECT_NEAR(predict_one(cpu4(), triangle(false, 4)).seconds, 2 * us, tiny) << "one wave";
}

TEST(Imbalance, LongestFirstCostsOnlyTheTail) {
    EXPECT_NEAR(predict_one(cpu4(), triangle(true, 16)).seconds, 4 * us, tiny);
    // 17: the lightest of a triangle fill the gap, 17 / 4 of a mean CTA.
    EXPECT_NEAR(predict_one(cpu4(), triangle(true, 17)).seconds, 4.25 * us, tiny);
    // Half the spread: lightest 0.5, so half of the 0.75 µs that equal CTAs lose.
    Counts half = triangle(true, 17);
    half.imbalance = 1.5;
    half.steps[0].work["flop.fma.fp32"] = 1.5e6;
    EXPECT_NEAR(predict_one(cpu4(), half).seconds, 4.25 * us + 0.5 * 0.75 * us, tiny);
    // Nothing ends before its heaviest CTA.
    EXPECT_NEAR(predict_one(cpu4(), triangle(true, 5)).seconds, 2 * us, tiny);
}

TEST(Imbalance, WithoutStepsTheHeaviestIsTheImbalancedShare) {
    Counts counts = triangle(false, 4);
    counts.steps.clear();
    EXPECT_NEAR(predict_one(cpu4(), counts).seconds, 2 * us, tiny);
}

TEST(Imbalance, BelowOneIsABugOfTheKernel) {
    Counts counts = triangle(true, 4);
    counts.imbalance = 0.9;
    EXPECT_THROW(predict_one(cpu4(), counts), Error);
    counts = equal_ctas({{"flop.fma.fp32", 1e6}}, 4);
    const double exact = predict_one(cpu4(), counts).seconds;
    counts.imbalance = 1 - 1e-15;
    EXPECT_NEAR(predict_one(cpu4(), counts).seconds, exact, tiny) << "rounding is not";
}

TEST(Latency, LittlesLawHoldsAStreamToBytesInFlight) {
    Device device = gpu10();
    Counts counts = equal_ctas({{"byte.dram_read", 1e6}}, 10);  // 10 µs at 100 GB/s an SM
    counts.bytes_in_flight = 32e3;
    EXPECT_NEAR(predict_one(device, counts).seconds, 10 * us, tiny) << "latency not known";
    device.rates["latency.dram"].value = 800e-9;
    // 32 kB each 0.8 µs: 40 GB/s, so 25 µs, 15 of them latency.
    const Prediction one = predict_one(device, counts);
    EXPECT_NEAR(one.seconds, 25 * us, tiny);
    EXPECT_NEAR(term(one, "dram"), 10 * us, tiny);
    EXPECT_NEAR(term(one, "latency"), 15 * us, tiny);
    EXPECT_EQ(one.limiter, "latency");
    // Three on an SM have 96 kB in flight, more than 100 GB/s × 0.8 µs.
    Counts three = equal_ctas({{"byte.dram_read", 1e6}}, 30);
    three.bytes_in_flight = 32e3;
    EXPECT_NEAR(predict_one(device, three).seconds, 30 * us, tiny);
}

TEST(Latency, AWaitIsPaidAtEachRepeat) {
    Device device = gpu10();
    device.rates["latency.dram"].value = 500e-9;
    Counts counts = counts_of({{"flop.fma.fp32", 10 * 4e6}}, 10);
    counts.steps = {{"page", 4, {{"flop.fma.fp32", 1e6}}, "latency.dram"}};
    const Prediction prediction = predict_one(device, counts);
    EXPECT_NEAR(prediction.seconds, 6 * us, tiny);
    EXPECT_NEAR(term(prediction, "latency"), 2 * us, tiny);
    // A second CTA on the SM works while the first one waits.
    counts.ctas = 20;
    counts.work["flop.fma.fp32"] *= 2;
    EXPECT_NEAR(predict_one(device, counts).seconds, 8 * us, tiny);
}

// 40 CTAs share DRAM for 40 µs, longer than any of them takes: their latencies overlap, but for
// that of the first reads, before which nothing comes.
TEST(Latency, MemoryIdlesUntilTheFirstReadsAreThere) {
    Device device = gpu10();
    Counts counts = counts_of({{"byte.dram_read", 40e6}}, 40);
    counts.threads = 128;
    counts.steps = {{"load", 1, {{"byte.dram_read", 1e6}}, "latency.dram"}};
    EXPECT_NEAR(predict_one(device, counts).seconds, 40 * us, tiny) << "latency not known";
    device.rates["latency.dram"].value = 500e-9;
    EXPECT_NEAR(predict_one(device, counts).seconds, 40.5 * us, tiny);
    counts.steps.front().repeat = 8;  // as long a loop waits for its first reads once
    counts.steps.front().work["byte.dram_read"] = 1e6 / 8;
    EXPECT_NEAR(predict_one(device, counts).seconds, 40.5 * us, tiny);
}

// Steps behind the last read leave memory idle: of a loop over several steps the last turn, of one
// whose turns stand in a row all of them.
TEST(Latency, MemoryIdlesWhileTheLastCtaEnds) {
    Device device = gpu10();
    device.rates["latency.l2"].value = 250e-9;
    Counts counts = counts_of({{"byte.dram_read", 40e6}}, 40);
    counts.threads = 128;
    counts.steps = {{"load", 8, {{"byte.dram_read", 1e6 / 8}}, ""}, {"end", 4, {}, "latency.l2"}};
    EXPECT_NEAR(predict_one(device, counts).seconds, 40.25 * us, tiny);
    counts.steps.back().in_a_row = true;
    EXPECT_NEAR(predict_one(device, counts).seconds, 41 * us, tiny);
}

TEST(Latency, AWaitIsThatOfACtaAmongOthersWhereItIsKnown) {
    Device device = gpu10();
    device.rates["latency.dram"].value = 500e-9;
    device.rates["latency.dram.loaded"].value = 750e-9;
    Counts counts = counts_of({{"flop.fma.fp32", 10 * 4e6}}, 10);
    counts.steps = {{"page", 4, {{"flop.fma.fp32", 1e6}}, "latency.dram"}};
    EXPECT_NEAR(term(predict_one(device, counts), "latency"), 3 * us, tiny);
    counts.steps.front().waits = "latency.l2";
    device.rates["latency.l2"].value = 200e-9;
    EXPECT_NEAR(term(predict_one(device, counts), "latency"), 0.8 * us, tiny) << "its own alone";
    Counts stream = equal_ctas({{"byte.dram_read", 1e6}}, 10);
    stream.bytes_in_flight = 30e3;  // a load of 0.75 µs: 40 GB/s, so 25 µs
    EXPECT_NEAR(predict_one(device, stream).seconds, 25 * us, tiny);
}

TEST(Launch, TheFloorIsThatOfThePathUsed) {
    Device device = gpu10();
    device.rates["floor.launch_stream"].value = 3e-6;
    device.rates["floor.launch_graph"].value = 1e-6;
    const Counts counts = equal_ctas({{"flop.fma.fp32", 1e6}}, 10);
    EXPECT_NEAR(predict_one(device, counts, {.launch_path = "stream"}).seconds, 4 * us, tiny);
    const Prediction graph = predict_one(device, counts, {.launch_path = "graph"});
    EXPECT_NEAR(graph.seconds, 2 * us, tiny);
    EXPECT_NEAR(term(graph, "launch"), 1 * us, tiny);
    EXPECT_THROW(predict_one(device, counts, {.launch_path = "grph"}), Error);
    Device cpu = cpu4();
    cpu.rates["floor.parallel_region"].value = 5e-6;
    EXPECT_NEAR(predict_one(cpu, equal_ctas({{"flop.fma.fp32", 1e6}}, 4)).seconds, 6 * us, tiny);
}

// The host sends the second launch while the first one runs: what is left of its floor is what the
// first one does not outlast, and no less than the device's own gap.
TEST(Launch, InAStreamALaunchHidesTheFloorOfTheNext) {
    Device device = gpu10();
    device.rates["floor.launch_stream"].value = 3e-6;
    device.rates["floor.launch_graph"].value = 1e-6;
    const auto extra = [&](double flops) {
        const Counts counts = equal_ctas({{"flop.fma.fp32", flops}}, 10);
        return term(predict(device, std::vector{counts, counts}, {.launch_path = "stream"}),
                    "launch.extra");
    };
    EXPECT_NEAR(extra(1e6), 2 * us, tiny) << "the first one takes 1 µs";
    EXPECT_NEAR(extra(5e6), 1 * us, tiny) << "the first one takes 5 µs";
}

TEST(Launch, EachExtraLaunchAndEachWavePays) {
    Device device = gpu10();
    device.ctas_per_unit = 1;
    device.rates["floor.launch_graph"].value = 1e-6;
    device.rates["floor.cta"].value = 0.5e-6;
    const std::vector<Counts> launches{equal_ctas({{"flop.fma.fp32", 1e6}}, 20),
                                       equal_ctas({{"flop.fma.fp32", 1e6}}, 10),
                                       equal_ctas({{"flop.fma.fp32", 1e6}}, 5)};
    const Prediction prediction = predict(device, launches, {.launch_path = "graph"});
    EXPECT_NEAR(term(prediction, "launch"), 1 * us, tiny);
    EXPECT_NEAR(term(prediction, "launch.extra"), 2 * us, tiny);
    EXPECT_NEAR(term(prediction, "launch.cta"), 4 * 0.5 * us, tiny);
    EXPECT_NEAR(prediction.seconds, 5 * us + 4 * us, tiny);
    EXPECT_EQ(prediction.limiter, "launch") << "its three parts count as one: 5 against 3.5 µs";
}

// Two resources may share a time so that neither has most of it. What is hardly waited for does not
// become the limiter by that.
TEST(Limiter, is_what_is_waited_for_only_where_that_is_most_of_what_the_resource_leaves) {
    Device device = gpu10();
    device.rates["floor.launch_graph"].value = 0.1e-6;
    const std::vector<Counts> launches{equal_ctas({{"byte.dram_read", 0.5e6}}, 10),
                                       equal_ctas({{"flop.fma.fp32", 4e6}}, 10)};
    const Prediction shared = predict(device, launches, {.launch_path = "graph"});
    EXPECT_NEAR(term(shared, "dram"), 5 * us, tiny);
    EXPECT_NEAR(term(shared, "flop.fma.fp32"), 4 * us, tiny);
    EXPECT_EQ(shared.limiter, "dram") << "54 %, and launches have 2 %";
    device.rates["floor.launch_graph"].value = 3e-6;
    EXPECT_EQ(predict(device, launches, {.launch_path = "graph"}).limiter, "launch")
        << "6 µs of 15, of which 10 are not dram's";
}

// DRAM has 5 of 11.4 µs, of which two launches take 3.4: 62 % of what is left, where counters see
// it busy.
TEST(Limiter, the_launch_is_left_out_of_the_time_that_a_resource_must_have) {
    Device device = gpu10();
    device.rates["floor.launch_graph"].value = 1.7e-6;
    const std::vector<Counts> launches{equal_ctas({{"byte.dram_read", 0.5e6}}, 10),
                                       equal_ctas({{"flop.fma.fp32", 3e6}}, 10)};
    const Prediction shared = predict(device, launches, {.launch_path = "graph"});
    EXPECT_NEAR(term(shared, "dram"), 5 * us, tiny);
    EXPECT_NEAR(shared.seconds, 11.4 * us, tiny);
    EXPECT_EQ(shared.limiter, "dram");
}

// A launch of 1 us and a wait of 1.5: no half of the rest each, but both more than DRAM's 10 ns.
TEST(Limiter, is_no_resource_that_is_less_than_what_is_waited_for) {
    Device device = gpu10();
    device.rates["floor.launch_stream"].value = 1e-6;
    device.rates["floor.cta"].value = 0.4e-6;
    device.rates["latency.dram"].value = 1.3e-6;
    Counts counts = counts_of({{"byte.dram_read", 1e4}});
    counts.steps = {{"load", 1, {{"byte.dram_read", 1e4}}, "latency.dram"}};
    const Prediction prediction = predict_one(device, counts);
    EXPECT_LT(term(prediction, "dram"), 0.05 * prediction.seconds);
    EXPECT_THAT((std::array<std::string, 2>{"launch", "latency"}),
                testing::Contains(prediction.limiter));
}

TEST(Clock, MatrixRatesFallToTheSustainedClock) {
    Device device = gpu10();
    device.rates["flop.wgmma.bf16"].clock_hz = 1980e6;
    device.sustained_clock_hz = 1485e6;
    const Counts counts = equal_ctas({{"flop.wgmma.bf16", 10e6}}, 10);  // 1 µs at 1980 MHz
    const Prediction prediction = predict_one(device, counts);
    EXPECT_NEAR(prediction.seconds, 1 * us / 0.75, tiny);
    EXPECT_NEAR(prediction.layer1.bound_seconds, 1 * us, tiny) << "layer 1 is the ceiling";
    EXPECT_DOUBLE_EQ(prediction.sm_clock_hz, 1485e6);
    // A rate that was probed at a lower clock holds as it is.
    device.rates["flop.wgmma.bf16"].clock_hz = 1400e6;
    EXPECT_NEAR(predict_one(device, counts).seconds, 1 * us, tiny);
}

// The more of the time products take, the lower the clock that instructions beside them go at.
TEST(Clock, ChainsSlowDownWithTheShareOfProducts) {
    Device device = gpu10();
    device.clock_hz = 1980e6;
    device.sustained_clock_hz = 1485e6;
    device.rates["flop.wgmma.bf16"].clock_hz = 1980e6;
    const auto seconds = [&](double flops, std::int64_t ctas = 10) {
        // Of each unit, 10e6 of them take 1 µs at 1980 MHz.
        Counts c = counts_of({{"flop.wgmma.bf16", static_cast<double>(ctas) * flops}}, ctas);
        c.threads = 128;
        c.steps = {{"loop", 1, {{"flop.wgmma.bf16", flops}}, "", 4 * 1980}};
        return predict_one(device, c).seconds;
    };
    EXPECT_NEAR(seconds(0), 4 * us, tiny);
    EXPECT_NEAR(seconds(20e6), 4 * us * 1980 / (1980 - 495 * 0.5), tiny);
    EXPECT_NEAR(seconds(40e6), 4 * us * 1980 / 1485, tiny);
    // The power is the chip's: one of ten units draws a tenth of it.
    EXPECT_NEAR(seconds(20e6, 1), 4 * us * 1980 / (1980 - 495 * 0.05), tiny);
    device.sustained_clock_hz = 0;  // not known: the highest
    EXPECT_NEAR(seconds(20e6), 4 * us, tiny);
}

// A multiply-add is an instruction, whose energy would hold its own; where a device has none for
// instructions, the multiply-add's counts. All that goes at the units' clock slows down.
TEST(Clock, MultiplyAddsDrawPowerAndSlowDownWithTheClock) {
    Device device = gpu10();
    device.clock_hz = 2000e6;
    device.rates["op.issue"].value = 100e12;
    device.rates["op.issue"].clock_hz = 2000e6;
    Counts counts = equal_ctas({{"flop.fma.fp32", 10e6}, {"op.issue", 5e6}}, 10);
    counts.overlap = {{"flop.fma.fp32", "op.issue"}};
    const double at_highest = predict_one(device, counts).seconds;
    device.power.limit_w = 60;
    device.power.idle_w = 20;
    device.power.joules = {{"flop.fma.fp32", 8e-12}};
    const double watts = 20 + 100e6 * 8e-12 / at_highest;  // idling, and what multiply-adds draw
    ASSERT_GT(watts, 90);
    const Prediction within = predict_one(device, counts);
    const double share = (60.0 - 20) / (watts - 20);
    EXPECT_NEAR(within.sm_clock_hz / device.clock_hz, share, 1e-4);
    EXPECT_NEAR(within.seconds, at_highest / share, at_highest * 1e-3);
    device.power.joules["op.issue"] = 1e-15;  // it holds the multiply-adds, and is next to nothing
    EXPECT_NEAR(predict_one(device, counts).seconds, at_highest, tiny);
}

// Where probes have seen the clock of products alone: what a launch moves beside them may draw so
// much that the board cannot keep that clock either. Where it can, watts change nothing.
TEST(Clock, WattsMayLeaveLessThanTheLastingClock) {
    Device device = gpu10();
    device.clock_hz = 2000e6;
    device.sustained_clock_hz = 1500e6;
    device.rates["flop.wgmma.bf16"].clock_hz = 1500e6;
    device.power.decides = false;
    device.power.limit_w = 100;
    device.power.idle_w = 20;
    const double flops = 100e6;
    const Counts counts = equal_ctas({{"flop.wgmma.bf16", flops / 10}}, 10);
    const Prediction unlimited = predict_one(device, counts);
    ASSERT_DOUBLE_EQ(unlimited.sm_clock_hz, 1500e6);
    const double a_watt = unlimited.seconds / flops;  // joules of a flop that draws one at 1.5 GHz
    device.power.joules = {{"flop.wgmma.bf16", 79 * a_watt}};
    EXPECT_DOUBLE_EQ(predict_one(device, counts).seconds, unlimited.seconds);
    device.power.joules = {{"flop.wgmma.bf16", 100 * a_watt}};
    const Prediction held_down = predict_one(device, counts);
    EXPECT_NEAR(held_down.sm_clock_hz, 1500e6 * 80 / 100, 1e4);
    EXPECT_NEAR(held_down.seconds, unlimited.seconds * 100 / 80, unlimited.seconds * 1e-3);
}

TEST(Predict, AMissingResourceIsNamed) {
    try {
        predict_one(cpu4(), counts_of({{"flop.dot.bf16", 1e6}}, 4));
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
        EXPECT_NE(std::string(error.what()).find("flop.dot.bf16"), std::string::npos);
    }
}

}  // namespace
}  // namespace raceline

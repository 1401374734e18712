// SPDX-License-Identifier: Apache-2.0
#include "device/probes.hpp"

#include <gmock/gmock.h>
#include <map>
#include <set>
#include <string>

#include "device/catalog.hpp"
#include "device/probe_dot_bf16.hpp"
#include "device/probe_vector.hpp"
#include "raceline/error.hpp"
#include "timing/measurement.hpp"

namespace raceline {
namespace {

Device small_cpu() {
    Device device = live_cpu();
    device.units = std::min(device.units, 2);
    return device;
}

// One quick probe serves the tests that look at its values: they ask for relations that hold by
// factors, so that a busy machine cannot break them.
const std::map<std::string, Ceiling>& quick() {
    static const std::map<std::string, Ceiling> ceilings = [] {
        std::map<std::string, Ceiling> found;
        for (const Ceiling& ceiling : probe_cpu(small_cpu(), 0, {}, ProbeEffort::quick)) {
            EXPECT_TRUE(found.emplace(ceiling.resource, ceiling).second)
                << ceiling.resource << " appears twice";
        }
        return found;
    }();
    return ceilings;
}

double value(const std::string& resource) {
    const auto found = quick().find(resource);
    EXPECT_NE(found, quick().end()) << resource << " was not probed";
    return found == quick().end() ? 0 : found->second.value;
}

TEST(CpuProbe, MeasuresEveryResourceTheModelAsksFor) {
    for (const char* resource :
         {"byte.dram_read", "byte.dram_write", "byte.dram_copy", "byte.dram_read.unit",
          "byte.dram_write.unit", "byte.l1", "byte.l2", "byte.l2.unit", "flop.fma.fp32",
          "flop.fma.fp32.unit", "op.exp", "op.simd", "floor.parallel_region", "latency.dram"}) {
        EXPECT_GT(value(resource), 0) << resource;
    }
    if (small_cpu().llc_bytes > 0) {
        EXPECT_GT(value("byte.llc"), 0);
    }
    const bool dot = small_cpu().has_bf16_dot && probe::has_dot_bf16();
    EXPECT_EQ(quick().contains("flop.dot.bf16"), dot);
}

TEST(CpuProbe, StatesUnitMethodAndClock) {
    const std::set<std::string> units{"flop/s", "op/s", "byte/s", "s"};
    for (const auto& [resource, ceiling] : quick()) {
        EXPECT_TRUE(units.contains(ceiling.unit)) << resource << " in " << ceiling.unit;
        EXPECT_EQ(ceiling.unit == "s",
                  resource.starts_with("floor.") || resource.starts_with("latency."))
            << resource;
        EXPECT_GT(ceiling.method.size(), 20U) << resource;
        EXPECT_GT(ceiling.clock_hz, 2e8) << resource;
        EXPECT_LT(ceiling.clock_hz, 1e10) << resource;
    }
}

TEST(CpuProbe, FasterLevelsAreFaster) {
    EXPECT_GT(value("byte.l1"), value("byte.l2") * 1.1);
    EXPECT_GT(value("byte.l1"), value("byte.dram_read") * 2);
    if (quick().contains("byte.llc")) {
        EXPECT_GT(value("byte.l2"), value("byte.llc") * 0.8);
    }
    // One access of a chase takes far longer than its share of a stream.
    EXPECT_GT(value("latency.dram"), 64 / value("byte.dram_read"));
}

TEST(CpuProbe, ArithmeticStandsInItsOrder) {
    // A multiply-add is two flops, so that a rate of lanes is at most that of flops; an exponential
    // takes about ten vector operations, at least four on any machine.
    EXPECT_LT(value("op.exp"), value("flop.fma.fp32") / 4);
    EXPECT_GT(value("op.exp"), value("flop.fma.fp32") / 200);
    EXPECT_LT(value("flop.fma.fp32.unit"), value("flop.fma.fp32") * 1.3);
}

TEST(CpuProbe, StaysWithinTheArithmeticLimits) {
    for (const auto& [resource, ceiling] : quick()) {
        if (ceiling.limit > 0) {
            EXPECT_NO_THROW(check_ceiling(ceiling)) << resource;
        }
    }
    EXPECT_GT(quick().at("flop.fma.fp32").limit, 0);
    EXPECT_GT(quick().at("byte.l1").limit, 0);
    // Wrong by a factor of lanes or ports would show here, a busy machine would not.
    EXPECT_GT(value("flop.fma.fp32"), quick().at("flop.fma.fp32").limit * 0.2);
}

TEST(CpuProbe, RefusesACeilingAboveItsLimit) {
    Ceiling ceiling = quick().at("flop.fma.fp32");
    ceiling.value = ceiling.limit * 1.02;
    EXPECT_NO_THROW(check_ceiling(ceiling));
    ceiling.value = ceiling.limit * 1.04;
    EXPECT_THROW(check_ceiling(ceiling), Error);
}

TEST(CpuProbe, NamesAreTheSameEveryTimeAndProgressIsWhole) {
    Device device = small_cpu();
    device.llc_bytes = 0;  // a level of unknown size is left out
    std::vector<std::string> first;
    int last_done = -1;
    int last_total = 0;
    const auto watch = [&](std::string_view what, int done, int total) {
        EXPECT_FALSE(what.empty());
        EXPECT_EQ(done, last_done + 1);
        last_done = done;
        last_total = total;
    };
    for (const Ceiling& ceiling : probe_cpu(device, 1, watch, ProbeEffort::quick)) {
        first.push_back(ceiling.resource);
    }
    EXPECT_EQ(last_done, last_total);
    EXPECT_THAT(first, testing::Not(testing::Contains("byte.llc")));
    std::vector<std::string> second;
    for (const Ceiling& ceiling : probe_cpu(device, 1, {}, ProbeEffort::quick)) {
        second.push_back(ceiling.resource);
    }
    EXPECT_EQ(first, second);
}

TEST(CpuProbe, RefusesNegativeThreads) {
    EXPECT_THROW(probe_cpu(small_cpu(), -1, {}, ProbeEffort::quick), Error);
}

TEST(VectorLoops, WidestTargetFirstAndOneAWidth) {
    const auto sets = probe::vector_loops();
    ASSERT_FALSE(sets.empty());
    for (std::size_t i = 1; i < sets.size(); ++i) {
        EXPECT_LT(sets[i].vector_bytes, sets[i - 1].vector_bytes);
    }
}

TEST(VectorLoops, DoTheWorkTheyClaim) {
    for (const auto& loops : probe::vector_loops()) {
        const double lanes = loops.vector_bytes / 4.0;
        EXPECT_EQ(loops.fma_12(3), 3 * 64 * 12 * 2 * lanes) << loops.target;
        EXPECT_EQ(loops.fma_20(3), 3 * 64 * 20 * 2 * lanes) << loops.target;
        alignas(256) static std::byte from[2 * probe::memory_grain];
        alignas(256) static std::byte to[2 * probe::memory_grain];
        loops.write_streaming(from, sizeof(from), 2);
        EXPECT_NE(from[sizeof(from) - 1], std::byte{0}) << loops.target;
        for (const auto copy : {loops.copy_regular, loops.copy_streaming}) {
            std::fill(std::begin(to), std::end(to), std::byte{0});
            copy(to, from, sizeof(to), 1);
            EXPECT_TRUE(std::equal(std::begin(to), std::end(to), std::begin(from))) << loops.target;
        }
    }
}

TEST(CpuClock, IsThatOfACoreAndSteady) {
    const double clock = cpu_clock_hz();
    EXPECT_GT(clock, 2e8);
    EXPECT_LT(clock, 1e10);
    // A folded chain would grow with its length or run off the scale; an interrupted one reads low.
    EXPECT_GT(cpu_clock_hz(0.02), clock * 0.5);
}

TEST(CpuClock, MonotonicSecondsAdvance) {
    const double begin = monotonic_seconds();
    cpu_clock_hz(0.005);
    const double elapsed = monotonic_seconds() - begin;
    EXPECT_GE(elapsed, 0.004);
    EXPECT_LT(elapsed, 5);
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "probe/probes.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <set>
#include <string>

#include "device/catalog.hpp"
#include "probe/dot_bf16.hpp"
#include "probe/gpu_steps.hpp"
#include "probe/vector.hpp"
#include "raceline/error.hpp"
#include "timing/measurement.hpp"

namespace raceline {
namespace {

// One core: threads that must all run at once measure a busy machine, not the probe.
Device one_core() {
    Device device = live_cpu();
    device.units = 1;
    return device;
}

// The best of three quick probes within their limits serves the tests that look at values. They ask
// for relations that hold by factors, so that neighbours on the machine cannot break them.
const std::map<std::string, Ceiling>& quick() {
    static const std::map<std::string, Ceiling> ceilings = [] {
        std::map<std::string, Ceiling> found;
        for (int lap = 0; lap < 3; ++lap) {
            for (const Ceiling& ceiling : probe_cpu(one_core(), 0, {}, ProbeEffort::quick)) {
                const auto [entry, fresh] = found.emplace(ceiling.resource, ceiling);
                EXPECT_EQ(fresh, lap == 0) << ceiling.resource;
                const bool lower_wins = ceiling.unit == "s";
                // A rate above its units at the clock that was read is another moment's clock.
                const bool replaces = is_above_limit(entry->second) ||
                                      lower_wins == (ceiling.value < entry->second.value);
                if (!is_above_limit(ceiling) && replaces) {
                    entry->second = ceiling;
                }
            }
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

TEST(CpuProbe, MeasuresEveryResourceAndSaysHow) {
    for (const char* resource :
         {"byte.dram_read", "byte.dram_write", "byte.dram_copy", "byte.dram_read.unit",
          "byte.dram_write.unit", "byte.l1", "byte.l2", "byte.l2.unit", "flop.fma.fp32",
          "flop.fma.fp32.unit", "op.exp", "op.simd", "floor.parallel_region", "latency.dram"}) {
        EXPECT_GT(value(resource), 0) << resource;
    }
    if (one_core().llc_bytes > 0) {
        EXPECT_GT(value("byte.llc"), 0);
    }
    const bool dot = one_core().has_bf16_dot && probe::has_dot_bf16();
    EXPECT_EQ(quick().contains("flop.dot.bf16"), dot);
    EXPECT_EQ(quick().contains("flop.amx.bf16"), one_core().has_bf16_tiles);
    if (one_core().has_bf16_tiles) {  // or the sums wait for each other
        EXPECT_GT(value("flop.amx.bf16"), 2 * value("flop.dot.bf16"));
    }
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

TEST(CpuProbe, ValuesStandInTheirOrderAndWithinTheirLimits) {
    EXPECT_GT(value("byte.l1"), value("byte.l2") * 1.1);
    EXPECT_GT(value("byte.l1"), value("byte.dram_read") * 2);
    if (quick().contains("byte.llc")) {
        EXPECT_GT(value("byte.l2"), value("byte.llc") * 0.8);
    }
    // One access of a chase takes far longer than its share of a stream.
    EXPECT_GT(value("latency.dram"), 64 / value("byte.dram_read"));

    // A multiply-add is two flops, so that a rate of lanes is at most that of flops; an exponential
    // takes about ten vector operations, at least four on any machine.
    EXPECT_LT(value("op.exp"), value("flop.fma.fp32") / 4);
    EXPECT_GT(value("op.exp"), value("flop.fma.fp32") / 200);
    EXPECT_GT(value("op.simd"), value("op.exp"));

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
    Ceiling ceiling{"flop.fma.fp32", 0, "flop/s", 4e9, 0, "by hand", 64 * 4e9};
    ceiling.value = ceiling.limit * 1.02;
    EXPECT_NO_THROW(check_ceiling(ceiling));
    ceiling.value = ceiling.limit * 1.04;
    EXPECT_THROW(check_ceiling(ceiling), Error);
}

TEST(CpuProbe, NamesAreTheSameEveryTimeAndProgressIsWhole) {
    Device device = one_core();
    device.llc_bytes = 0;  // a level of unknown size is left out
    std::vector<std::string> first;
    int last_done = -1;
    int last_total = 0;
    device.units = 2;
    const auto watch = [&](std::string_view what, int done, int total) {
        EXPECT_FALSE(what.empty());
        EXPECT_EQ(done, last_done + 1);
        last_done = done;
        last_total = total;
    };
    for (const Ceiling& ceiling : probe_cpu(device, 2, watch, ProbeEffort::quick)) {
        first.push_back(ceiling.resource);
    }
    EXPECT_EQ(last_done, last_total);
    EXPECT_THAT(first, testing::Not(testing::Contains("byte.llc")));
    std::vector<std::string> second;
    for (const Ceiling& ceiling : probe_cpu(device, 0, {}, ProbeEffort::quick)) {
        second.push_back(ceiling.resource);
    }
    EXPECT_EQ(first, second);
}

TEST(CpuProbe, RefusesNegativeThreads) {
    EXPECT_THROW(probe_cpu(one_core(), -1, {}, ProbeEffort::quick), Error);
}

TEST(GpuProbe, RefusesWhatIsNoLiveCudaDevice) {
    Device device = one_core();
    try {
        probe_cuda(device, {}, ProbeEffort::quick);
        FAIL() << "a CPU was probed as a GPU";
    } catch (const Error& error) {
        // Without a driver there is no device; with one, this is not it.
        EXPECT_THAT(error.status(), testing::AnyOf(Status::no_device, Status::invalid_argument));
        EXPECT_THAT(error.what(), testing::HasSubstr(device.id));
    }
}

TEST(GpuLimits, AreThoseOfTheDatasheetsPeaks) {
    // H100 SXM: 132 SMs, dense peaks at 1.83 GHz in TFLOP/s (data sheet; FMA at 1.98 GHz).
    const auto peak = [](const char* resource, double clock_hz) {
        return probe::per_clock_of_unit(resource, 90) * 132 * clock_hz / 1e12;
    };
    EXPECT_NEAR(peak("flop.wgmma.bf16", 1.83e9), 989.4, 1);
    EXPECT_NEAR(peak("flop.wgmma.fp16.burst", 1.83e9), 989.4, 1);
    EXPECT_NEAR(peak("flop.wgmma.e4m3", 1.83e9), 1978.9, 2);
    EXPECT_NEAR(peak("flop.wgmma.tf32", 1.83e9), 494.7, 1);
    EXPECT_NEAR(peak("flop.fma.fp32", 1.98e9), 66.9, 0.1);
    EXPECT_EQ(probe::per_clock_of_unit("byte.dram_read", 90), 0);
    EXPECT_EQ(probe::per_clock_of_unit("flop.wgmma.bf16", 120), 0);
    // A100: 108 SMs at 1.41 GHz, 312 and 19.5 TFLOP/s.
    EXPECT_NEAR(probe::per_clock_of_unit("flop.mma.bf16", 80) * 108 * 1.41e9 / 1e12, 312, 1);
    EXPECT_NEAR(probe::per_clock_of_unit("flop.fma.fp32", 80) * 108 * 1.41e9 / 1e12, 19.5, 0.1);
    // L4: 58 SMs at 2.04 GHz, 121 TFLOP/s bf16 dense, 30.3 fp32.
    EXPECT_NEAR(probe::per_clock_of_unit("flop.mma.bf16", 89) * 58 * 2.04e9 / 1e12, 121, 1);
}

TEST(GpuLimits, ACeilingAboveItsUnitsIsRefused) {
    Device device;
    device.kind = DeviceKind::cuda;
    device.units = 132;
    device.compute_capability = 90;
    probe::GpuPass pass;
    pass.clock_hz = 1.7e9;
    pass.rate = 4096 * 132 * 1.7e9 * 1.02;
    const std::string id = "flop.wgmma.bf16";
    EXPECT_NO_THROW(check_ceiling(probe::gpu_ceiling(id, "flop/s", pass, device, "test")));
    pass.rate *= 1.02;
    EXPECT_THROW(check_ceiling(probe::gpu_ceiling(id, "flop/s", pass, device, "test")), Error);
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

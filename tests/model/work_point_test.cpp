// SPDX-License-Identifier: Apache-2.0
#include "model/work_point.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "support/check.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Device& made() {
    static const Device device = [] {
        Device d;
        d.id = "made";
        d.name = "Made";
        d.kind = DeviceKind::cuda;
        for (const auto& [id, value] : std::initializer_list<std::pair<const char*, double>>{
                 {"byte.dram_read", 1e12},
                 {"byte.dram_copy", 9e11},
                 {"byte.l2", 4e12},
                 {"flop.fma.fp32", 1e13},
                 {"flop.fma.fp16", 9e14},
                 {"flop.mma.fp16", 1e14},
                 {"flop.wgmma.fp16", 2e14},
                 {"flop.wgmma.fp16.burst", 2.5e14},
                 {"op.ex2", 1e12},
                 {"floor.launch_graph", 1e-6}}) {
            d.rates[id] = {value, "datasheet: a test", 0, "", 0};
        }
        return d;
    }();
    return device;
}

std::string refusal(const WorkPoint& point) {
    try {
        judge_point(made(), point);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::invalid_argument);
        return error.what();
    }
    return "(none)";
}

TEST(WorkPoint, BytesLimitLeftOfTheRidge) {
    // 2e12 operations take 0.2 s at 1e13, 1e12 bytes a second: 2 FLOP/B left of a ridge of 10.
    const PointVerdict v =
        judge_point(made(), {.flops = 2e12, .bytes = 1e12, .seconds = 1.25, .engine = "fma.fp32"});
    EXPECT_EQ(v.engine, "flop.fma.fp32");
    EXPECT_EQ(v.memory, "byte.dram_read");
    EXPECT_DOUBLE_EQ(v.intensity, 2);
    EXPECT_DOUBLE_EQ(v.ridge, 10);
    EXPECT_DOUBLE_EQ(v.memory_seconds, 1);
    EXPECT_DOUBLE_EQ(v.compute_seconds, 0.2);
    EXPECT_DOUBLE_EQ(v.bound_seconds, 1);
    EXPECT_EQ(v.limiter, "byte.dram_read");
    EXPECT_DOUBLE_EQ(v.of_roof, 0.8);
    EXPECT_NEAR(v.gain_of_tenth, 1.1, 1e-12);
    EXPECT_EQ(v.rates, "datasheet");
    EXPECT_EQ(standing_of(v), "limited by it");
}

TEST(WorkPoint, OperationsLimitRightOfTheRidge) {
    const PointVerdict v =
        judge_point(made(), {.flops = 5e13, .bytes = 1e12, .engine = "flop.fma.fp32"});
    EXPECT_EQ(v.limiter, "flop.fma.fp32");
    EXPECT_DOUBLE_EQ(v.bound_seconds, 5);
    EXPECT_EQ(v.of_roof, 0);
    EXPECT_EQ(standing_of(v), "not measured");
}

// At 0.95 of the ridge a tenth more bandwidth buys 5 %: then the operations limit.
TEST(WorkPoint, ATenthMoreBuysLessBesideTheOtherRoof) {
    const PointVerdict v =
        judge_point(made(), {.flops = 9.5e12, .bytes = 1e12, .engine = "fma.fp32"});
    EXPECT_EQ(v.limiter, "byte.dram_read");
    EXPECT_NEAR(v.gain_of_tenth, 1 / 0.95, 1e-12);
}

TEST(WorkPoint, ATypeAloneIsItsFastestEngineWithSumsInFp32) {
    const PointVerdict v = judge_point(made(), {.flops = 1, .engine = "fp16"});
    EXPECT_EQ(v.engine, "flop.wgmma.fp16");
    EXPECT_EQ(v.engine_rate, 2.5e14) << "the highest that is known, as in every bound";
    EXPECT_EQ(v.intensity, 0);
    EXPECT_EQ(judge_point(made(), {.flops = 1, .engine = "fma.fp16"}).engine, "flop.fma.fp16");
    EXPECT_EQ(judge_point(made(), {.flops = 1, .engine = "op.ex2"}).engine_rate, 1e12);
}

TEST(WorkPoint, BytesCountAtTheLevelThatIsNamed) {
    EXPECT_DOUBLE_EQ(judge_point(made(), {.bytes = 4e12, .memory = "l2"}).bound_seconds, 1);
    EXPECT_DOUBLE_EQ(judge_point(made(), {.bytes = 9e11, .memory = "byte.dram_copy"}).bound_seconds,
                     1);
}

TEST(WorkPoint, StandingsGoByTheShareOfTheRoof) {
    const auto standing = [](double seconds) {
        return standing_of(judge_point(made(), {.bytes = 1e12, .seconds = seconds}));
    };
    EXPECT_EQ(standing(0.9), "beyond the roof");
    EXPECT_EQ(standing(0.98), "at the roof");
    EXPECT_EQ(standing(1.02), "at the roof");
    EXPECT_EQ(standing(1.6), "limited by it");
    EXPECT_EQ(standing(1.7), "waits");
}

TEST(WorkPoint, RefusalsNameWhatThereIs) {
    EXPECT_THAT(refusal({.flops = 1, .engine = "wgma.fp16"}),
                AllOf(HasSubstr("'wgma.fp16'"), HasSubstr("did you mean 'wgmma.fp16'")));
    EXPECT_THAT(refusal({.flops = 1}), HasSubstr("engine is missing; "));
    EXPECT_THAT(refusal({.bytes = 1, .memory = "l3"}), HasSubstr("memory is 'l3'"));
    EXPECT_THAT(refusal({.flops = 1, .engine = "dram_read"}), HasSubstr("engine"));
    EXPECT_THAT(refusal({}), HasSubstr("flops and bytes are 0"));
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(refusal({.flops = nan, .engine = "fp16"}), HasSubstr("flops is nan"));
    EXPECT_THAT(refusal({.bytes = -1}), HasSubstr("bytes is -1"));
    EXPECT_THAT(refusal({.bytes = 1, .seconds = std::numeric_limits<double>::infinity()}),
                HasSubstr("seconds is inf"));
}

// Their quotients would be infinite, or no number at all.
TEST(WorkPoint, AmountsBeyondAnyMachineAreRefused) {
    EXPECT_THAT(refusal({.flops = 1e308, .bytes = 1, .engine = "fp16"}),
                HasSubstr("flops is 1e+308; from 1e-30 to 1e30 is accepted"));
    EXPECT_THAT(refusal({.bytes = 5e-324}), HasSubstr("bytes is"));
    EXPECT_THAT(refusal({.bytes = 1, .seconds = 1e-308}), HasSubstr("seconds is"));
    EXPECT_EQ(refusal({.flops = 1e30, .bytes = 1e-30, .seconds = 1e-30, .engine = "fp16"}),
              "(none)");
}

// The bound is the larger of both times, and a tenth more of its rate never makes more of it.
TEST(WorkPoint, OfRandomPointsTheBoundIsTheLargerTime) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> decades(3, 15);
    for (int i = 0; i < 1000; ++i) {
        const WorkPoint point{.flops = std::pow(10, decades(random)),
                              .bytes = std::pow(10, decades(random)),
                              .engine = "fma.fp32"};
        const PointVerdict v = judge_point(made(), point);
        EXPECT_EQ(v.bound_seconds, std::max(point.flops / 1e13, point.bytes / 1e12));
        EXPECT_EQ(v.limiter == "flop.fma.fp32", v.intensity > v.ridge);
        EXPECT_GE(v.gain_of_tenth, 1);
        EXPECT_LE(v.gain_of_tenth, 1.1 + 1e-12);
    }
}

}  // namespace
}  // namespace raceline

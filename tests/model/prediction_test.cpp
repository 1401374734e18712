// SPDX-License-Identifier: Apache-2.0
// What holds for every prediction: terms sum, more bandwidth is never slower, more work never
// faster, and a receipt gives back what it was given. Launches are drawn at random, seeded.
#include "model/prediction.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

#include "model_fixtures.hpp"
#include "raceline/error.hpp"
#include "receipt/rows.hpp"
#include "support/build_info.hpp"

namespace raceline {
namespace {

class CaseDraw {
public:
    explicit CaseDraw(unsigned seed) : engine_(seed) {}
    double between(double low, double high) {
        return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(engine_));
    }
    bool coin() { return std::bernoulli_distribution(0.5)(engine_); }

    Counts launch(bool gpu) {
        const auto ctas = static_cast<std::int64_t>(between(1, 300));
        const Work cta{{"flop.fma.fp32", between(1e4, 1e7)},
                       {gpu ? "flop.wgmma.bf16" : "op.exp", between(1e3, 1e6)},
                       {gpu ? "byte.l2" : "byte.llc", between(1e3, 1e6)},
                       {"byte.dram_read", between(1e3, 1e6)},
                       {"byte.dram_write", between(1e2, 1e5)}};
        Counts counts = counts_of({}, ctas);
        counts.imbalance = coin() ? 1 : between(1, 3);
        counts.balanced_order = coin();
        const double repeat = std::floor(between(1, 50));
        for (const auto& [id, amount] : cta) {
            counts.work[id] = amount * static_cast<double>(ctas);
        }
        if (coin()) {
            Work step = cta;
            for (auto& [id, amount] : step) {
                amount *= counts.imbalance / repeat;
            }
            counts.steps = {{"loop", repeat, step, coin() ? "latency.dram" : ""}};
        }
        if (coin()) {
            counts.overlap = {{"byte.dram_read", "flop.fma.fp32", "byte.llc", "byte.l2"},
                              {"byte.dram_read", "op.exp", "flop.wgmma.bf16"}};
        }
        if (coin()) {
            counts.reread = {{between(1e4, 1e7), between(1e5, 1e7)}};
        }
        counts.bytes_in_flight = coin() ? between(1e3, 1e5) : 0;
        counts.registers = 64;
        counts.threads = gpu ? 128 : 1;
        return counts;
    }

private:
    std::mt19937 engine_;
};

Device full_device(bool gpu) {
    Device device = gpu ? gpu10() : cpu4();
    device.rates["latency.dram"].value = 600e-9;
    device.rates["floor.launch_stream"].value = 2e-6;
    device.rates["floor.parallel_region"].value = 2e-6;
    device.rates["floor.cta"].value = 0.2e-6;
    if (!gpu) {
        device.rates["byte.dram_read.unit"].value = 4e10;
    }
    return device;
}

struct Case {
    Device device;
    std::vector<Counts> launches;
    LaunchCase how;
    [[nodiscard]] double seconds() const { return predict(device, launches, how).seconds; }
};

Case draw_case(unsigned seed) {
    CaseDraw draw(seed);
    const bool gpu = draw.coin();
    Case drawn{full_device(gpu), {draw.launch(gpu)}, {.cold = draw.coin()}};
    if (draw.coin()) {
        drawn.launches.push_back(draw.launch(gpu));
    }
    return drawn;
}

constexpr unsigned cases = 400;
constexpr double rounding = 1 + 1e-12;

TEST(Prediction, TermsSumToSecondsAndNoneIsNegative) {
    for (unsigned seed = 0; seed < cases; ++seed) {
        const Case drawn = draw_case(seed);
        const Prediction prediction = predict(drawn.device, drawn.launches, drawn.how);
        double sum = 0;
        for (const auto& [name, seconds] : prediction.layer2) {
            EXPECT_GT(seconds, 0) << name;
            sum += seconds;
        }
        EXPECT_EQ(sum, prediction.seconds) << seed;
        EXPECT_GT(prediction.seconds, 0);
    }
}

TEST(Prediction, NeverBeatsTheRoofline) {
    for (unsigned seed = 0; seed < cases; ++seed) {
        Case drawn = draw_case(seed);
        drawn.how.cold = true;  // a warm call may: its reads come from the cache
        const Prediction prediction = predict(drawn.device, drawn.launches, drawn.how);
        EXPECT_GE(prediction.seconds * rounding, prediction.layer1.bound_seconds) << seed;
    }
}

TEST(Prediction, MoreBandwidthIsNeverSlower) {
    for (unsigned seed = 0; seed < cases; ++seed) {
        const Case drawn = draw_case(seed);
        const double before = drawn.seconds();
        for (const auto& [id, rate] : drawn.device.rates) {
            Case faster = drawn;
            const bool time = id.starts_with("floor.") || id.starts_with("latency.");
            faster.device.rates[id].value *= time ? 0.7 : 1.5;
            EXPECT_LE(faster.seconds(), before * rounding) << seed << " " << id;
        }
    }
}

TEST(Prediction, MoreWorkIsNeverFaster) {
    for (unsigned seed = 0; seed < cases; ++seed) {
        const Case drawn = draw_case(seed);
        const double before = drawn.seconds();
        for (const auto& [id, amount] : drawn.launches[0].work) {
            Case more = drawn;
            more.launches[0].work[id] *= 1.3;
            for (Step& step : more.launches[0].steps) {
                step.work[id] *= 1.3;
            }
            EXPECT_GE(more.seconds() * rounding, before) << seed << " " << id;
        }
        Case more = drawn;
        more.launches.push_back(drawn.launches[0]);
        EXPECT_GT(more.seconds(), before) << seed;
    }
}

TEST(Prediction, ALargerCacheIsNeverSlower) {
    for (unsigned seed = 0; seed < cases; ++seed) {
        Case drawn = draw_case(seed);
        // Only where the cache is at least as fast as DRAM, as every cache is.
        const double before = drawn.seconds();
        drawn.device.llc_bytes *= 3;
        EXPECT_LE(drawn.seconds(), before * rounding) << seed;
    }
}

TEST(Prediction, CarriesItsProvenance) {
    Device device = full_device(false);
    device.rates_id = "abc";
    device.clock_hz = 3e9;
    const Prediction prediction = predict_one(device, counts_of({{"flop.fma.fp32", 1e6}}));
    EXPECT_EQ(prediction.rates_id, "abc");
    EXPECT_EQ(prediction.sm_clock_hz, 3e9);
    EXPECT_EQ(prediction.model_hash, build_info::model_hash());
    EXPECT_FALSE(prediction.band);
}

TEST(PredictionJson, HasTheReceiptsNamesInOrder) {
    const Prediction prediction =
        predict_one(full_device(false), counts_of({{"flop.fma.fp32", 1e6}}));
    const Json json = row_to_json(prediction);
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) {
        names.push_back(name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"seconds", "limiter", "layer1", "layer2", "band",
                                               "rates_id", "sm_clock_hz", "model_hash"}));
    EXPECT_TRUE(json["band"].is_null());
}

TEST(PredictionJson, RoundTrips) {
    const Case drawn = draw_case(7);
    Prediction prediction = predict(drawn.device, drawn.launches, drawn.how);
    prediction.band = Interval{1e-6, 3e-6};
    const Prediction back =
        row_from_json<Prediction>(parse_json(dump_json(row_to_json(prediction)), "test"));
    EXPECT_EQ(back.seconds, prediction.seconds);
    EXPECT_EQ(back.limiter, prediction.limiter);
    EXPECT_EQ(back.layer1.seconds, prediction.layer1.seconds);
    EXPECT_EQ(back.layer1.limiter, prediction.layer1.limiter);
    EXPECT_EQ(back.layer1.bound_seconds, prediction.layer1.bound_seconds);
    EXPECT_EQ(back.layer2, prediction.layer2);
    EXPECT_EQ(back.band.value_or(Interval{}).low, 1e-6);
    EXPECT_EQ(back.band.value_or(Interval{}).high, 3e-6);
    EXPECT_EQ(back.model_hash, prediction.model_hash);
}

TEST(PredictionJson, WrongFormIsCorrupt) {
    for (const char* text : {"{}", "[]", R"({"seconds":"1"})"}) {
        try {
            row_from_json<Prediction>(parse_json(text, "test"));
            FAIL() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::corrupt);
        }
    }
}

TEST(Intensity, CountsTheFlopsOfAllEnginesAndLaunches) {
    const std::vector<Counts> launches{
        counts_of({{"flop.fma.fp32", 2e6}, {"flop.wgmma.bf16", 5e6}, {"op.exp", 0}}, 10),
        counts_of({{"flop.fma.fp32", 1e6}, {"byte.dram_read", 3e6}, {"byte.dram_write", 1e6}}, 10)};
    const Roofline line = roofline(gpu10(), launches);
    EXPECT_DOUBLE_EQ(line.arithmetic_intensity, 8e6 / 4e6);
    // The engine that is busy longest: 3 Mflop at 10 Tflop/s against 5 at 100.
    EXPECT_DOUBLE_EQ(line.ridge, 10);
}

TEST(Ridge, IsThatOfTheEngineUsedAndTheBestBeside) {
    const Counts counts = counts_of({{"flop.fma.fp32", 1e6}, {"byte.dram_read", 1e6}}, 10);
    const Roofline line = roofline(gpu10(), {&counts, 1});
    EXPECT_DOUBLE_EQ(line.arithmetic_intensity, 1);
    EXPECT_DOUBLE_EQ(line.ridge, 10);
    EXPECT_DOUBLE_EQ(line.ridge_best, 100);
    EXPECT_EQ(line.limiter, "dram");
    EXPECT_EQ(line.seconds.size(), 2U) << "all resource times are kept";
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// raceline.h: predictions, suites and devices, which come as text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "raceline/point.hpp"
#include "raceline/raceline.h"
#include "raceline/raceline.hpp"
#include "registry/registry.hpp"
#include "support/json.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

TEST(CPrediction, IsTheContentOfAPredictionRow) {
    char* text = nullptr;
    ASSERT_EQ(rl_predict_shape("b=64,h=64/8,q=1,k=32768,d=128,dtype=bf16", "h200", nullptr, &text),
              RL_OK)
        << rl_last_error();
    const Json row = parse_json(text, "prediction");
    rl_free(text);
    EXPECT_EQ(row.at("device").at("id"), "h200");
    const PredictedTime time = predict_shape("b=64,h=64/8,q=1,k=32768,d=128,dtype=bf16", "h200");
    EXPECT_EQ(row.at("prediction").at("seconds").get<double>(), time.seconds);
    EXPECT_EQ(row.at("kernel").get<std::string>(), time.kernel);
    double sum = 0;
    for (const auto& [term, seconds] : time.terms) {
        sum += seconds;
    }
    EXPECT_NEAR(sum, time.seconds, 1e-9 * time.seconds);
    // 64 caches of 32768 × 8 heads × 2 × 128 bf16 = 8.6 GB cannot cross 4.8 TB/s in less.
    EXPECT_GT(time.seconds, 64.0 * 32768 * 8 * 2 * 128 * 2 / 4.8e12);
}

TEST(CPoint, IsTheVerdictOfTheCppInterface) {
    rl_work_point point = RL_INIT(rl_work_point);
    point.flops = 1e12;
    point.bytes = 1e9;
    point.seconds = 1e-3;
    point.engine = "bf16";
    char* text = nullptr;
    ASSERT_EQ(rl_point(&point, "h200", &text), RL_OK) << rl_last_error();
    const Json found = parse_json(text, "point");
    rl_free(text);
    const PointVerdict verdict =
        judge_point({.flops = 1e12, .bytes = 1e9, .seconds = 1e-3, .engine = "bf16"}, "h200");
    EXPECT_EQ(verdict.limiter, "flop.wgmma.bf16");
    EXPECT_EQ(found.at("limiter"), verdict.limiter);
    EXPECT_EQ(found.at("memory"), "byte.dram_read");
    EXPECT_EQ(found.at("bound_seconds").get<double>(), verdict.bound_seconds);
    EXPECT_EQ(found.at("of_roof").get<double>(), verdict.bound_seconds / 1e-3);
}

TEST(CPoint, Refuses) {
    rl_work_point point = RL_INIT(rl_work_point);
    char* text = nullptr;
    EXPECT_EQ(rl_point(nullptr, "h200", &text), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_point(&point, "h200", nullptr), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_point(&point, "h200", &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("flops and bytes are 0"));
    point.bytes = 1;
    point.memory = "l7";
    EXPECT_EQ(rl_point(&point, "h200", &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("memory is 'l7'"));
    EXPECT_EQ(rl_point(&point, "h2000", &text), RL_NO_DEVICE);
    point.struct_size = 9;
    EXPECT_EQ(rl_point(&point, "h200", &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("struct_size"));
    EXPECT_EQ(text, nullptr);
}

TEST(CPrediction, HasABoundWhereNoKernelRuns) {
    const char* const shape = "h=32/8,q=4096,k=4096,d=128,causal";
    char* text = nullptr;
    EXPECT_EQ(rl_predict_shape(shape, "mi300x", nullptr, &text), RL_UNSUPPORTED);
    ASSERT_EQ(rl_predict_bound(shape, "mi300x", &text), RL_OK) << rl_last_error();
    const Json row = parse_json(text, "bound");
    rl_free(text);
    const ProblemBound bound = predict_bound(shape, "mi300x");
    EXPECT_EQ(row.at("device").at("id"), "mi300x");
    EXPECT_EQ(row.at("bound").at("seconds").get<double>(), bound.seconds);
    EXPECT_EQ(row.at("bound").at("limiter"), bound.limiter);
    // 4 x 32 x 128 operations for each of the 4096 x 4097 / 2 pairs.
    const double flops = 4.0 * 32 * 128 * (4096.0 * 4097 / 2);
    EXPECT_DOUBLE_EQ(bound.compute_seconds, flops / datasheet_device("mi300x").rate(bound.engine));
    EXPECT_EQ(bound.seconds, bound.compute_seconds);
    EXPECT_EQ(bound.rates, "datasheet");
    EXPECT_GT(predict_bound("op=rmsnorm,n=8192x4096,dtype=bf16", "mi300x").memory_seconds, 0);
    EXPECT_EQ(rl_predict_bound("b=1,hh=2", "mi300x", &text), RL_INVALID_ARGUMENT);
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_predict_bound(nullptr, "mi300x", &text), RL_INVALID_ARGUMENT);
    EXPECT_EQ(rl_predict_bound(shape, "mi300", &text), RL_NO_DEVICE);
    EXPECT_THAT(rl_last_error(), HasSubstr("mi300x"));
}

TEST(CPrediction, RefusesWithTheFieldAndTheDeviceNamed) {
    char* text = nullptr;
    EXPECT_EQ(rl_predict_shape("b=1,hh=2", nullptr, nullptr, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("hh"));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_predict_shape("b=1,h=2,q=4,k=4,d=64", "h2000", nullptr, &text), RL_NO_DEVICE);
    EXPECT_THAT(rl_last_error(), HasSubstr("h200"));
}

Json predicted(const rl_case& which) {
    char* text = nullptr;
    EXPECT_EQ(rl_predict_case(&which, &text), RL_OK) << rl_last_error();
    Json row = text == nullptr ? Json() : parse_json(text, "prediction");
    rl_free(text);
    return row;
}

// Two engines once looked for the busiest of no CTAs.
TEST(CPrediction, HasAnAnswerForCallsWithoutQueryRows) {
    const Device h200 = datasheet_device("h200");
    for (const char* shape : {"h=1,q=0,k=64,d=64", "h=2,q=0;0,k=5;7,d=64",
                              "h=1,q=0,k=0,d=64,dtype=e4m3", "h=1,q=0,k=64,d=128,dtype=fp16"}) {
        const Workload w = parse_shape(shape);
        for (const Kernel& kernel : all_kernels()) {
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                if (kernel.engine == Engine::cuda && kernel.why_not(w, tile, h200).empty()) {
                    const auto launches = kernel.counts(w, tile, h200);
                    ASSERT_EQ(launches.size(), 1U) << kernel.name << ' ' << shape;
                    EXPECT_TRUE(launches.front().work.empty()) << kernel.name << ' ' << shape;
                }
            }
        }
        EXPECT_GT(predict_shape(shape, "h200").seconds, 0) << shape;
    }
}

TEST(CPrediction, TakesALaunchPathAndThreads) {
    rl_case which = RL_INIT(rl_case);
    which.shape = "b=1,h=8/2,q=1,k=64,d=128,dtype=bf16";
    which.device = "h200";
    const Json stream = predicted(which);
    which.launch_path = "graph";
    const Json graph = predicted(which);
    EXPECT_EQ(stream.at("case").at("launch_path"), "stream");
    EXPECT_EQ(graph.at("case").at("launch_path"), "graph");
    EXPECT_EQ(graph.at("tile"), stream.at("tile"));
    EXPECT_LT(graph.at("prediction").at("seconds").get<double>(),
              stream.at("prediction").at("seconds").get<double>());
    which.launch_path = "carriage";
    char* text = nullptr;
    EXPECT_EQ(rl_predict_case(&which, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("launch_path is 'carriage'"));
    which.launch_path = nullptr;
    which.device = "cpu";
    which.threads = 1;
    EXPECT_EQ(predicted(which).at("case").at("threads"), 1);
}

// 2049 keys share the decision of 2304: the row must name the tile that a call really takes there.
TEST(CPrediction, NamesTheTileThatACallTakes) {
    Device h200 = datasheet_device("h200");
    apply_committed_rates(h200);
    const api::Candidates any{.backend = "", .must_run = false};
    int differing = 0;
    for (int length = 17; length < 5000; length += length / 5) {
        const std::string shape = fmt::format("b=1,h=8,q={0},k={0},d=128,dtype=bf16", length);
        rl_case which = RL_INIT(rl_case);
        which.shape = shape.c_str();
        which.device = "h200";
        const Workload workload = parse_shape(shape);
        const auto call = api::choose_engine(api::representative(workload), h200, 0, any);
        const Json row = predicted(which);
        EXPECT_EQ(row.at("kernel"), call.kernel->name) << shape;
        for (const auto& [field, value] : call.kernel->tile(call.tile)) {
            EXPECT_EQ(row.at("tile").at(std::string(field)), value) << shape;
        }
        const auto own = api::choose_engine(workload, h200, 0, any);
        differing += own.tile != call.tile ? 1 : 0;
    }
    EXPECT_GT(differing, 0) << "shapes whose own choice is the shared one prove nothing";
}

TEST(CSuite, ListsShapesThatCanBePredicted) {
    char* text = nullptr;
    ASSERT_EQ(rl_suite("training-16k", nullptr, &text), RL_OK) << rl_last_error();
    const Json shapes = parse_json(text, "suite");
    rl_free(text);
    ASSERT_EQ(shapes.size(), 36U);
    for (const Json& shape : shapes) {
        const Workload w = parse_shape(shape.get<std::string>());
        EXPECT_EQ(w.tokens_q(), 16384);
        EXPECT_EQ(w.dtype, DType::bf16);
    }
    ASSERT_EQ(rl_suite("training-16k", "fp16", &text), RL_OK) << rl_last_error();
    EXPECT_EQ(parse_shape(parse_json(text, "suite").at(0).get<std::string>()).dtype, DType::fp16);
    rl_free(text);
    EXPECT_EQ(rl_suite("trainin-16k", nullptr, &text), RL_INVALID_ARGUMENT);
    EXPECT_THAT(rl_last_error(), HasSubstr("training-16k"));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(rl_suite("ladder", "int8", &text), RL_INVALID_ARGUMENT);
}

TEST(CDevices, ListsThisMachineAndTheDatasheets) {
    char* text = nullptr;
    ASSERT_EQ(rl_devices(&text), RL_OK) << rl_last_error();
    const Json all = parse_json(text, "devices");
    rl_free(text);
    int live = 0;
    bool h200 = false;
    for (const Json& device : all) {
        live += device.at("live").get<bool>() ? 1 : 0;
        h200 |= device.at("id") == "h200";
    }
    EXPECT_GE(live, 1);
    EXPECT_TRUE(h200);
    EXPECT_STREQ(rl_dtype_name(RL_BF16), "bf16");
    EXPECT_STREQ(rl_dtype_name(55), "?");
    EXPECT_EQ(version(), rl_version());
}

}  // namespace
}  // namespace raceline

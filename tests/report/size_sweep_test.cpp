// SPDX-License-Identifier: Apache-2.0
#include "report/size_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

const LaunchCase graph{.cold = true, .launch_path = "graph"};

std::string sweep_text(const std::string& shape, DType dtype, const SizeRange& range,
                       const Device& device, const LaunchCase& how, std::string_view kernel = {}) {
    return size_sweep_text(size_sweep(shape, dtype, range, device, how, kernel));
}

TEST(SizeSweep, ReadsRanges) {
    const SizeRange range = parse_size_range("m=1:4096");
    EXPECT_EQ(range.field, "m");
    EXPECT_EQ(range.first, 1);
    EXPECT_EQ(range.last, 4096);
    for (const char* wrong :
         {"m", "m=1", "=1:2", "m=1:x", "m=0:4", "m=4:4", "m=5:4", "m=1:2:3", ""}) {
        EXPECT_THROW(parse_size_range(wrong), Error) << wrong;
    }
}

// The sizes that it names are the ones at which the bound's limiter changes.
TEST(SizeSweep, NamesTheCrossing) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    const std::string text = sweep_text("op=linear,n=4096,k=4096", DType::bf16,
                                        parse_size_range("m=1:4096"), device, graph);
    const auto limiter = [&](std::int64_t m) {
        return speed_of_light(device, parse_shape(fmt::format("op=linear,n=4096,k=4096,m={}", m)),
                              graph)
            .limiter;
    };
    std::int64_t last = 1;
    while (limiter(last + 1) == "dram") {
        ++last;
    }
    EXPECT_THAT(text, testing::Not(HasSubstr("e+03"))) << "1024 FLOP/B, as others print it";
    EXPECT_THAT(
        text, HasSubstr(fmt::format("up to m={} dram bounds it, from m={} on flop.wgmma.bf16", last,
                                    last + 1)));
    // A small layer leaves the launch and reaches arithmetic between two rows of the table.
    const std::string small = sweep_text("op=linear,n=1024,k=1024", DType::bf16,
                                         parse_size_range("m=1:8192"), device, graph);
    EXPECT_THAT(small, testing::ContainsRegex("up to m=[0-9]+ launch bounds it, from m=[0-9]+ on "
                                              "dram\nup to m=[0-9]+ dram bounds it, from "
                                              "m=[0-9]+ on flop.wgmma.bf16\n"));
    EXPECT_THAT(sweep_text("h=32/8,q=1,d=128", DType::bf16, parse_size_range("k=4096:65536"),
                           device, graph),
                HasSubstr("dram bounds it everywhere"));
}

// What computes nothing has the rate of its bytes.
TEST(SizeSweep, OfAnOperationWithoutWorkHasTheRateOfItsBytes) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    const std::string text = sweep_text("op=embedding,vocab=50257,d=4096", DType::bf16,
                                        parse_size_range("tokens=1024:65536"), device, graph);
    EXPECT_THAT(text, HasSubstr(" TB/s"));
    EXPECT_THAT(text, testing::Not(HasSubstr("0 FLOP/s")));
}

// A row has the time that `predict` says first of that size.
TEST(SizeSweep, HasTheExpectedTime) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    const std::string text = sweep_text("h=32/8,q=1,k=8192,d=128", DType::bf16,
                                        parse_size_range("b=64:65"), device, graph);
    Case which;
    which.workload = parse_shape("b=64,h=32/8,q=1,k=8192,d=128");
    which.options.how = graph;
    const api::EngineChoice choice =
        api::choose_engine(which.workload, device, 0, {.backend = {}, .must_run = false});
    which.kernel = choice.kernel;
    which.tile = choice.tile;
    const Prediction prediction = explain_case(which, device).prediction;
    ASSERT_NE(format_seconds(prediction.expected_seconds), format_seconds(prediction.seconds));
    EXPECT_THAT(text, HasSubstr(format_seconds(prediction.expected_seconds)));
}

// A kernel that was named is asked in the place of the API's choice.
TEST(SizeSweep, FollowsTheKernelThatWasNamed) {
    const Device device = datasheet_device("h200");
    const auto sweep = [&](const std::string& kernel) {
        return sweep_text("h=16,d=128,k=4096", DType::bf16, parse_size_range("q=4096:8192"), device,
                          graph, kernel);
    };
    EXPECT_THAT(sweep(""), HasSubstr("prefill_sm90"));
    EXPECT_THAT(sweep("simt"),
                testing::AllOf(HasSubstr("simt"), testing::Not(HasSubstr("prefill_sm90"))));
    for (const char* wrong : {"nosuch", "cpu_flash"}) {
        EXPECT_THROW(sweep(wrong), Error) << wrong;
    }
}

// They are parts of one field, so that the shape has the one that stays beside the one that varies.
TEST(SizeSweep, VariesTheRowsOrTheWidthOfAnN) {
    const Device device = datasheet_device("h200");
    const auto sweep = [&](const std::string& shape, const char* range) {
        return sweep_text(shape, DType::bf16, parse_size_range(range), device, graph);
    };
    const auto bound = [&](const std::string& shape) {
        return format_seconds(speed_of_light(device, parse_shape(shape), graph).seconds);
    };
    const std::string rows = sweep("op=add+rmsnorm,n=7x4096", "rows=8192:16384");
    EXPECT_THAT(rows, HasSubstr("op=add+rmsnorm,n=ROWSx4096 on h200, over rows"));
    EXPECT_THAT(rows, HasSubstr(bound("op=add+rmsnorm,n=8192x4096")));
    EXPECT_THAT(rows, HasSubstr(bound("op=add+rmsnorm,n=16384x4096")));
    const std::string width = sweep("op=adam,n=4096x1,state=bf16", "Width=8192:16384");
    EXPECT_THAT(width, HasSubstr("n=4096xWIDTH"));
    EXPECT_THAT(width, HasSubstr(bound("op=adam,n=4096x16384,state=bf16")));
    EXPECT_EQ(sweep("op=relu,n=4096", "rows=2:4"), sweep("op=relu,n=1x4096", "rows=2:4"))
        << "a number alone is a width";
}

TEST(SizeSweep, SaysWhatCanVary) {
    const Device device = datasheet_device("h200");
    const auto refusal = [&](const std::string& shape, const char* range) -> std::string {
        try {
            return sweep_text(shape, DType::bf16, parse_size_range(range), device, graph);
        } catch (const Error& error) {
            return error.what();
        }
    };
    EXPECT_THAT(refusal("op=rmsnorm,n=4x8", "row=1:4"),
                HasSubstr("--over row=1:4: no size of rmsnorm is called 'row': did you mean "
                          "'rows'? It can vary rows, width"));
    EXPECT_THAT(refusal("op=rmsnorm", "rows=1:4"),
                HasSubstr("--over rows=1:4 takes the width from n: give it as well, as in "
                          "n=1x4096"));
    EXPECT_THAT(refusal("op=linear,n=4,k=8", "rows=1:4"), HasSubstr("it can vary m, n, k"));
    EXPECT_THAT(refusal("h=8,d=64,k=64", "tokens=1:4"),
                HasSubstr("it can vary b, h, q, k, d, window, page"));
    EXPECT_THAT(refusal("h=8,d=64,k=64", "batch=1:4"), HasSubstr("over batch"));
}

TEST(SizeSweep, RefusesAFieldThatTheShapeHasAlready) {
    const Device device = datasheet_device("h200");
    EXPECT_THROW(
        sweep_text("op=linear,m=1,n=4,k=4", DType::bf16, parse_size_range("m=1:4"), device, graph),
        Error);
}

}  // namespace
}  // namespace raceline

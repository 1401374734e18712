// SPDX-License-Identifier: Apache-2.0
#include "report/fusion_report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "support/check.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

const LaunchCase graph{.cold = true, .launch_path = "graph"};

Device h200() {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    return device;
}

TEST(FusionReport, AFusedChainIsBoundByFewerBytes) {
    const Fusion fusion = fusion_of(parse_shape("op=add+rmsnorm,n=8192x4096"));
    const Device device = h200();
    const FusionBounds bounds = bounds_of(fusion, device, graph);
    EXPECT_NEAR(bounds.before / bounds.fused.seconds, fusion.bytes_before() / fusion.bytes_after(),
                0.01);
    EXPECT_EQ(bounds.before_cached, 0);
    const auto times = predicted_times(fusion, device, graph);
    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times.back().kernel, "rows_cuda");
    EXPECT_GT(times[0].predicted + times[1].predicted, times[2].predicted);
    const std::string text = fusion_text(fusion, device, graph, times);
    EXPECT_THAT(text, HasSubstr("one after the other"));
    EXPECT_THAT(text, testing::ContainsRegex("FLOP/B +ridge +limiter +bound +of bound"));
    EXPECT_THAT(text, testing::ContainsRegex("fused .* 14\\.3  dram .* [89][0-9] %  rows_cuda"));
    EXPECT_THAT(text, HasSubstr("1.67× by the bound"));
    EXPECT_THAT(text, Not(HasSubstr("measured")));
}

TEST(FusionReport, SaysThatNoKernelRunsItFused) {
    const Fusion fusion = fusion_of(parse_shape("op=rmsnorm+linear+silu,m=64,n=512,k=512"));
    const Device device = h200();
    const std::string text =
        fusion_text(fusion, device, graph, predicted_times(fusion, device, graph));
    EXPECT_THAT(text, HasSubstr("no kernel runs it fused"));
    EXPECT_THAT(text, HasSubstr("no kernel runs rmsnorm fused in front of a matrix product"));
    EXPECT_THAT(text, Not(HasSubstr("attention"))) << "kernels of other operations are no reason";
}

// With the scores in the cache their bytes leave DRAM alone; at 512 tokens they fit, at 8192 not.
TEST(FusionReport, CountsTheScoreMatrixInBothPlaces) {
    const Device device = h200();
    for (const int length : {512, 8192}) {
        const Fusion fusion =
            fusion_of(parse_shape(fmt::format("h=16,k={},d=64,dtype=fp16", length)));
        const FusionBounds bounds = bounds_of(fusion, device, graph);
        EXPECT_LT(bounds.before_cached, bounds.before) << length;
        EXPECT_GT(bounds.before_cached, bounds.fused.seconds) << length;
        const std::string text =
            fusion_text(fusion, device, graph, predicted_times(fusion, device, graph));
        EXPECT_THAT(text, HasSubstr(length == 512 ? "so that it may stay there"
                                                  : "so that it does not fit"));
    }
}

// One problem has one intensity: that of its bound, as --op says it.
TEST(FusionReport, TheFusedRowHasTheIntensityOfItsBound) {
    const Fusion fusion = fusion_of(parse_shape("op=linear+gelu,m=8,n=8,k=8,dtype=fp32"));
    const Device device = h200();
    EXPECT_NEAR(bounds_of(fusion, device, graph).fused.arithmetic_intensity, 1.33, 0.01);
    const std::string text =
        fusion_text(fusion, device, graph, predicted_times(fusion, device, graph));
    EXPECT_THAT(text, testing::ContainsRegex("\nfused [^\n]* 1\\.33 "));
}

TEST(FusionReport, SaysThatAMaskIsNoFusing) {
    const auto text_of = [](const char* mask) {
        const Fusion fusion =
            fusion_of(parse_shape(fmt::format("h=16,q=4096,k=4096,d=64,dtype=fp16{}", mask)));
        return fusion_text(fusion, h200(), graph, predicted_times(fusion, h200(), graph));
    };
    EXPECT_THAT(text_of(""), Not(HasSubstr("masked")));
    EXPECT_THAT(text_of(",causal"), HasSubstr("the parts compute masked scores too"));
}

TEST(FusionReport, ShowsWhatWasMeasured) {
    const Fusion fusion = fusion_of(parse_shape("op=add+relu,n=64x64"));
    const std::vector<FusionTime> times{{"a", 1e-6, 2e-6}, {"b", 1e-6, 2e-6}, {"c", 1e-6, 1e-6}};
    const std::string text = fusion_text(fusion, h200(), graph, times);
    EXPECT_THAT(text, HasSubstr("2.00× predicted, 4.00× measured"));
    EXPECT_THAT(text, Not(HasSubstr("settled")));
    EXPECT_THROW(fusion_text(fusion, h200(), graph, std::span(times).first(2)), Error);
}

TEST(FusionReport, SaysWhichStepHasNoSettledTime) {
    const Fusion fusion = fusion_of(parse_shape("op=add+relu,n=64x64"));
    std::vector<FusionTime> times{{"a", 1e-6, 2e-6}, {"b", 1e-6}, {"c", 1e-6, 1e-6}};
    times[1].unsettled = true;
    const std::string text = fusion_text(fusion, h200(), graph, times);
    EXPECT_THAT(text, HasSubstr("no measured time of relu settled"));
    EXPECT_THAT(text, Not(HasSubstr("× measured")));
}

}  // namespace
}  // namespace raceline

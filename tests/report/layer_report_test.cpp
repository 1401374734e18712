// SPDX-License-Identifier: Apache-2.0
#include "report/layer_report.hpp"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "support/text_table.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LayerReport, AddsTheFastestKernelOfEachPart) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    std::vector<std::pair<Case, CaseResult>> ran;
    double sum = 0, expected = 0;
    const Suite suite = make_suite("layer:llama3-8b:decode=4x1000");
    for (const Workload& w : suite.workloads) {
        double least = 0, its = 0;
        for (const char* name : {"rows_cuda", "linear_cublaslt", "decode_sm90", "simt"}) {
            Case which;
            which.suite = suite.name;
            which.kernel = &find_kernel(name);
            which.workload = w;
            which.options.how = {.cold = true, .launch_path = "graph"};
            CaseResult result;
            for (int tile = 0; tile < which.kernel->tile_count(); ++tile) {
                result.refusal = which.kernel->why_not(w, tile, device);
                if (result.refusal.empty()) {
                    which.tile = tile;
                    break;
                }
            }
            if (result.refusal.empty()) {
                result.explained = explain_case(which, device);
                const double seconds = result.explained->prediction.seconds;
                if (least == 0 || seconds < least) {
                    least = seconds;
                    its = result.explained->prediction.expected_seconds;
                }
            }
            ran.emplace_back(which, result);
        }
        sum += least;
        expected += its;
    }
    const std::string text = layer_text(ran, device);
    EXPECT_THAT(text, HasSubstr("10 parts, "));
    EXPECT_THAT(text, HasSubstr(format_seconds(sum)));
    EXPECT_THAT(text, HasSubstr(format_seconds(expected))) << "what a table of answers has first";
    EXPECT_THAT(text, HasSubstr("attention"));
    ran.front().first.suite = "quickstart";
    EXPECT_EQ(layer_text(ran, device), "") << "of another suite";
}

// All parts of a layer with these kernels; a part that none of them takes is refused.
std::vector<std::pair<Case, CaseResult>> layer_of(const Device& device,
                                                  std::span<const char* const> kernels) {
    std::vector<std::pair<Case, CaseResult>> ran;
    const Suite suite = make_suite("layer:llama3-8b:decode=4x1000");
    for (const Workload& w : suite.workloads) {
        Case which;
        which.suite = suite.name;
        which.workload = w;
        which.options.how = {.cold = true, .launch_path = "graph"};
        CaseResult result;
        for (const char* name : kernels) {
            which.kernel = &find_kernel(name);
            for (which.tile = 0; which.tile < which.kernel->tile_count(); ++which.tile) {
                result.refusal = which.kernel->why_not(w, which.tile, device);
                if (result.refusal.empty()) {
                    result.explained = explain_case(which, device);
                    break;
                }
            }
            if (result.explained) {
                break;
            }
        }
        ran.emplace_back(which, result);
    }
    return ran;
}

// What has no kernel is named, and the sum of the others is not called the layer's.
TEST(LayerReport, DoesNotCallPartsTheLayer) {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    const std::string text = layer_text(layer_of(device, std::array{"rows_cuda"}), device);
    EXPECT_THAT(text, HasSubstr("parts with a kernel"));
    EXPECT_THAT(text, Not(HasSubstr("the layer ")));
    EXPECT_THAT(text, Not(HasSubstr(" %")));
    EXPECT_THAT(text, HasSubstr("no kernel here runs 5 parts (linear, attention), which"));
}

TEST(LayerReport, SaysWhereGapsBetweenLaunchesAreNotKnown) {
    const Device device = datasheet_device("b200");
    const std::string text =
        layer_text(layer_of(device, std::array{"rows_cuda", "linear_cublaslt", "simt"}), device);
    EXPECT_THAT(text, HasSubstr("the sum is too low: "));
    EXPECT_THAT(text, Not(HasSubstr("gaps between launches")));
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "report/layer_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "support/text_table.hpp"
#include "workload/suites.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace raceline

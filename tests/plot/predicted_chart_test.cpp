// SPDX-License-Identifier: Apache-2.0
// Charts of bytes, of chains, and of predictions.
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/engine_choice.hpp"
#include "device/catalog.hpp"
#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "run/run_case.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using test::receipt;
using test::series_called;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

const LaunchCase graph{.cold = true, .launch_path = "graph"};

Device h200() {
    Device device = datasheet_device("h200");
    apply_committed_rates(device);
    return device;
}

TEST(TrafficChart, has_the_bytes_of_each_case_a_second_beside_those_of_a_copy) {
    const TimedRows rows =
        read_timed_rows({receipt("h200/2026-11-30-operations-2393069498-8ea357baf9df.jsonl.gz")});
    const Chart chart = traffic_chart(rows);
    ASSERT_EQ(chart.panels.size(), 1U);
    const double copy = h200().rates.at("byte.dram_copy").value;
    std::size_t found = 0;
    for (const TimedCase& one : rows.cases) {
        if (one.kernel != "adam_cuda") {
            continue;
        }
        const double bytes = one.workload.bytes_read() + one.workload.bytes_written();
        const double share = 100 * bytes / one.measured.seconds_median / copy;
        EXPECT_THAT(
            series_called(chart.panels[0], "adam_cuda").points,
            Contains(testing::AllOf(Field(&ChartPoint::x, bytes),
                                    Field(&ChartPoint::y, testing::DoubleNear(share, 1e-9)))));
        ++found;
    }
    EXPECT_GT(found, 1U);
    // The floor of a launch ends at the copy.
    const Series& limit = chart.panels[0].series.front();
    ASSERT_EQ(limit.points.size(), 3U);
    EXPECT_DOUBLE_EQ(limit.points[1].x, copy * h200().rates.at("floor.launch_graph").value);
    EXPECT_DOUBLE_EQ(limit.points[1].y, 100);
}

TEST(TrafficChart, says_that_nobody_measured_the_copies_of_a_device) {
    TimedRows rows =
        read_timed_rows({receipt("h200/2026-11-30-operations-2393069498-8ea357baf9df.jsonl.gz")});
    for (TimedCase& one : rows.cases) {
        one.device = one.about.device.id = "elsewhere";
    }
    const Chart chart = traffic_chart(rows);
    EXPECT_TRUE(draws_nothing(chart));
    EXPECT_THAT(chart.notes, Contains(HasSubstr("elsewhere: nobody measured its copies")));
}

TEST(FusionChart, puts_the_fused_chain_below_its_steps) {
    const TimedRows rows = read_timed_rows({receipt("h200/2026-11-28-fuse-29b9d5754e86.jsonl.gz")});
    const Chart chart = fusion_chart(rows);
    ASSERT_EQ(chart.panels.size(), 1U);
    const auto seconds = [&](const std::string& shape) {
        const auto one = std::ranges::find(rows.cases, shape, &TimedCase::shape);
        EXPECT_NE(one, rows.cases.end()) << shape;
        return one->measured.seconds_median;
    };
    const double share =
        100 * seconds("op=silu+mul,n=16384x14336,dtype=bf16") /
        (seconds("op=silu,n=16384x14336,dtype=bf16") + seconds("op=mul,n=16384x14336,dtype=bf16"));
    EXPECT_TRUE(std::ranges::any_of(chart.panels[0].series, [&](const Series& bar) {
        return bar.points.size() == 2 && bar.points[0].x == 0 &&
               std::abs(bar.points[1].x - share) < 1e-9;
    }));
    EXPECT_TRUE(std::ranges::any_of(chart.panels[0].y.ticks, [](const auto& tick) {
        return tick.second == "linear+bias+gelu,m=4096,n=14336,k=4096";
    }));
    EXPECT_TRUE(draws_nothing(fusion_chart(read_timed_rows({test::training_file}))));
}

TEST(SizeSweepChart, has_a_line_where_the_limiter_of_the_bound_changes) {
    const SizeSweep sweep = size_sweep("op=linear,n=4096,k=4096", DType::bf16,
                                       parse_size_range("m=1:4096"), h200(), graph);
    const Chart chart = size_sweep_chart(sweep);
    ASSERT_EQ(sweep.crossings.size(), 1U);
    const double crossing = static_cast<double>(sweep.crossings[0].last + 1);
    const Panel& panel = chart.panels.at(0);
    EXPECT_THAT(panel.texts, Contains(Field(&ChartText::x, crossing)));
    // There bytes and operations last about as long as each other.
    const auto at = [&](const std::string& title) {
        const auto& points = series_called(panel, title).points;
        const auto point = std::ranges::find(points, crossing, &ChartPoint::x);
        EXPECT_NE(point, points.end()) << title;
        return point->y;
    };
    EXPECT_NEAR(at("its bytes alone") / at("its operations alone"), 1, 0.01);
    EXPECT_DOUBLE_EQ(at("bound of the problem"), at("its operations alone"));
    EXPECT_EQ(series_called(panel, "expected of linear_cublaslt").points.size(),
              sweep.sizes.size());
}

TEST(LevelsChart, has_a_mark_for_each_level_under_its_roof) {
    const Device device = h200();
    Case which;
    which.workload = parse_shape("op=rmsnorm,n=16384x4096");
    which.options.how = graph;
    const api::EngineChoice choice =
        api::choose_engine(which.workload, device, 0, {.backend = {}, .must_run = false});
    which.kernel = choice.kernel;
    which.tile = choice.tile;
    const double flops = which.workload.flops();
    const Prediction prediction = explain_case(which, device).prediction;
    const Chart chart = levels_chart(device, {{"norm", "rows_cuda", flops, prediction}});
    const Panel& panel = chart.panels.at(0);
    std::vector<Mark> marks;
    for (const Series& series : panel.series) {
        if (series.mark != Mark::none) {
            marks.push_back(series.mark);
            EXPECT_FALSE(series.filled);
            EXPECT_DOUBLE_EQ(series.points.at(0).y, flops / prediction.seconds);
        }
    }
    // Rows that stay in registers have no bytes in shared memory.
    EXPECT_THAT(marks, testing::ElementsAre(Mark::circle, Mark::square));
    EXPECT_THAT(series_called(panel, "norm, rows_cuda: limited by dram").points.front(),
                Field(&ChartPoint::y, flops / prediction.seconds));
}

}  // namespace
}  // namespace raceline

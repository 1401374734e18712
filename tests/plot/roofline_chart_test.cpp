// SPDX-License-Identifier: Apache-2.0
// Points, roofs and panels of rooflines, from the committed receipts and from rows written by hand.
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "device/catalog.hpp"
#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "plot/other_rows.hpp"
#include "plot/placement.hpp"
#include "plot/roof_lines.hpp"
#include "plot/roofs.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"

namespace raceline {
namespace {

using test::ladder_file;
using test::receipt;
using test::series_called;
using test::training_file;
using testing::Contains;
using testing::HasSubstr;

class RooflineChart : public test::WrittenRuns {};

TEST_F(RooflineChart, roofline_joins_each_prediction_with_its_measurement) {
    run(2e-6, 4e-6);
    const Chart chart = roofline_chart(read_timed_rows({path()}));
    const Panel& panel = chart.panels.at(0);
    const Series& measured = series_called(panel, "cpu_flash");
    const double flops = which_.workload.flops();
    ASSERT_EQ(measured.points.size(), 1U);
    EXPECT_TRUE(measured.filled);
    EXPECT_NEAR(measured.points[0].y, flops / 4e-6, 1e-6 * flops / 4e-6);
    const double bytes = which_.workload.bytes_read() + which_.workload.bytes_written();
    EXPECT_NEAR(measured.points[0].x, flops / bytes, 1e-9 * flops / bytes);
    const auto hollow =
        std::ranges::find_if(panel.series, [](const Series& s) { return !s.filled; });
    ASSERT_NE(hollow, panel.series.end());
    EXPECT_NEAR(hollow->points.at(0).y, flops / 2e-6, 1e-6 * flops / 2e-6);
    const Series& join = panel.series.at(0);
    EXPECT_EQ(join.points.at(0).y, hollow->points[0].y);
    EXPECT_EQ(join.points.at(1).y, measured.points[0].y);
    EXPECT_THAT(chart.notes, Contains(HasSubstr("its ceilings are not known")));
}

TEST_F(RooflineChart, roofline_has_every_measured_roof_and_names_what_is_left) {
    const Chart chart = roofline_chart(read_timed_rows({training_file}));
    std::vector<std::string> texts;
    for (const ChartText& text : chart.panels.at(0).texts) {
        texts.push_back(text.text);
    }
    for (const char* roof :
         {"DRAM 4.62 TB/s", "L2 9.07 TB/s", "SMEM 33.4 TB/s", "wgmma.bf16 865 TFLOP/s",
          "wgmma.e4m3 1.67 PFLOP/s", "mma.fp16 622 TFLOP/s", "fma.fp32 66.1 TFLOP/s"}) {
        EXPECT_THAT(texts, Contains(roof));
    }
    // The widest gap: above its line the speed-up, in the legend the limiter.
    EXPECT_THAT(texts, Contains("2.16×"));
    const Series& gap = series_called(
        chart.panels[0], "2.16× left to flop.wgmma.bf16 (short bar), 2.67× to its limiter op.ex2");
    ASSERT_EQ(gap.points.size(), 2U);
    EXPECT_NEAR(gap.points[1].y / gap.points[0].y, 2.16, 0.005);
    EXPECT_EQ(series_called(chart.panels[0], "prefill_sm90").points.size(), 36U);
}

std::vector<std::string> texts_of(const Panel& panel) {
    std::vector<std::string> texts;
    std::ranges::transform(panel.texts, std::back_inserter(texts), &ChartText::text);
    return texts;
}

// Its rates in predictions are scaled to what another device reaches: a chart shows what is stated.
const std::string this_cpu = receipt("cpu/2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz");
const std::string another_cpu = receipt("cpu/2026-11-23-random-1261355047-4b2ec0278ce6.jsonl.gz");

std::vector<std::string> names_in(const Chart& chart) {
    std::vector<std::string> names;
    for (const ChartText& text : chart.panels.at(0).texts) {
        names.push_back(text.text);
    }
    return names;
}

// A CPU's ceilings stand in the row of its device, and in no file of their own.
TEST_F(RooflineChart, roofs_of_a_cpu_are_those_that_its_predictions_rest_on) {
    const TimedRows rows = read_timed_rows({this_cpu});
    const auto device =
        std::ranges::find(rows.rows, "device", [](const Json& row) { return row.at("kind"); });
    ASSERT_NE(device, rows.rows.end());
    const Json& rates = device->at("state").at("rates");
    const Roofs roofs = roofs_of(rows.cases.front().device, rows.cases.front().about.device, rows);
    for (const char* const resource : {"byte.dram_read", "byte.llc", "byte.l2", "byte.l1"}) {
        const auto found = std::ranges::find(roofs.memory, resource, &Roof::resource);
        ASSERT_NE(found, roofs.memory.end()) << resource;
        EXPECT_EQ(found->rate, rates.at(resource).at("value").get<double>());
        EXPECT_TRUE(found->measured);
    }
    // That of doubles stands in no probe of a CPU.
    ASSERT_EQ(roofs.engines.size(), 1U);
    EXPECT_EQ(roofs.engines[0].rate, rates.at("flop.fma.fp32").at("value").get<double>());
    const Chart chart = roofline_chart(rows);
    EXPECT_THAT(names_in(chart), Contains(HasSubstr("DRAM ")));
    EXPECT_THAT(names_in(chart), Contains(HasSubstr("fma.fp32 ")));
    EXPECT_THAT(chart.notes, testing::Not(Contains(HasSubstr("no roofs"))));
}

// A line that was lost takes the prediction of a case with it, and no ceiling of the machine.
TEST_F(RooflineChart, a_case_without_its_prediction_leaves_the_roofs_standing) {
    std::vector<Json> rows = read_timed_rows({this_cpu}).rows;
    const auto lost =
        std::ranges::find(rows, "prediction", [](const Json& r) { return r.at("kind"); });
    ASSERT_NE(lost, rows.end());
    rows.erase(lost);
    const Chart chart = roofline_chart(timed_rows_of(rows));
    EXPECT_THAT(chart.notes, Contains(HasSubstr("without a prediction")));
    EXPECT_THAT(names_in(chart), Contains(HasSubstr("DRAM ")));
    EXPECT_THAT(chart.notes, testing::Not(Contains(HasSubstr("no roofs"))));
}

// Machines of one name that a row tells apart have roofs each. Where it does not, a roof of one
// over the points of the other would be false.
TEST_F(RooflineChart, machines_of_one_name_have_their_own_roofs_or_none) {
    const TimedRows rows = read_timed_rows({this_cpu, another_cpu});
    ASSERT_EQ(rows.stated.size(), 2U);
    EXPECT_THAT(
        names_in(roofline_chart(rows)),
        testing::IsSupersetOf({testing::StartsWith("A DRAM "), testing::StartsWith("B DRAM ")}));
    EXPECT_THAT(roofline_chart(rows).title,
                HasSubstr("cpu (AMD EPYC, 256-bit SIMD, 512 KiB of L2), "
                          "cpu (AMD EPYC, 512-bit SIMD, 1 MiB of L2)"));
    std::vector<Json> alike = rows.rows;
    for (Json& row : alike) {
        if (row.at("kind") == "device") {
            row["state"]["simd_bits"] = 256;
            row["state"]["l2_bytes"] = 1 << 20;
        }
    }
    const TimedRows one_label = timed_rows_of(alike);
    ASSERT_EQ(one_label.stated.size(), 1U);
    ASSERT_EQ(one_label.stated.begin()->second.size(), 2U);
    const Chart chart = roofline_chart(one_label);
    EXPECT_THAT(names_in(chart), testing::Not(Contains(HasSubstr("DRAM "))));
    // Before what is said of rows: a picture shows the first remarks alone.
    EXPECT_THAT(chart.notes.front(), HasSubstr("its rows rest on 2 sets of ceilings"));
    // Each of the files has its own.
    for (const std::string& file : {this_cpu, another_cpu}) {
        EXPECT_THAT(names_in(roofline_chart(read_timed_rows({file}))),
                    Contains(HasSubstr("DRAM ")));
    }
}

// What was cold and what was warm are two times of one shape.
TEST_F(RooflineChart, ways_of_launching_have_marks_of_their_own) {
    run(2e-6, 4e-6);
    which_.options.how.cold = false;
    run(2e-6, 3e-6);
    const Chart chart = roofline_chart(read_timed_rows({path()}));
    const std::string same = "parallel, sustained, 2 threads";
    for (const char* const way : {"cold", "warm"}) {
        const Series& one =
            series_called(chart.panels.at(0), std::string("cpu_flash, ") + way + ", " + same);
        EXPECT_EQ(one.points.size(), 1U);
    }
}

TEST_F(RooflineChart, without_a_device_its_title_names_none) {
    std::ofstream(path()) << "";
    EXPECT_EQ(roofline_chart(read_timed_rows({path()})).title, "Roofline");
}

TEST(DeviceRoofs, of_a_device_that_nobody_measured_are_those_of_its_datasheet) {
    const Roofs roofs =
        roofs_of("gh200", {.id = "gh200", .name = "NVIDIA GH200", .driver = {}}, TimedRows{});
    const Device stated = datasheet_device("gh200");
    std::set<std::string> engines;
    for (const Roof& roof : roofs.engines) {
        EXPECT_FALSE(roof.measured) << roof.name;
        EXPECT_TRUE(engines.insert(roof.resource).second) << roof.name << " twice";
        EXPECT_EQ(roof.rate, stated.rates.at(roof.resource).value) << roof.name;
    }
    EXPECT_TRUE(engines.contains("flop.wgmma.bf16"));
    ASSERT_GE(roofs.memory.size(), 2U);
    for (const Roof& roof : roofs.memory) {
        EXPECT_EQ(roof.rate, stated.rates.at(roof.resource).value) << roof.name;
    }
    Panel panel;
    panel.x = {.title = {}, .logarithmic = true, .low = 0.1, .high = 1000, .ticks = {}};
    panel.y = {.title = {}, .logarithmic = true, .low = 1e10, .high = 1e16, .ticks = {}};
    EXPECT_TRUE(add_memory_names(panel, roofs, "", {.width = 600, .height = 400}));
    ASSERT_EQ(panel.texts.size(), roofs.memory.size());
    for (const ChartText& text : panel.texts) {
        EXPECT_THAT(text.text, HasSubstr("(datasheet)"));
    }
}

TEST_F(RooflineChart, a_roofline_of_many_kernels_has_a_panel_for_each) {
    const Chart chart = roofline_chart(read_timed_rows({ladder_file}), Shown::all);
    ASSERT_GT(chart.panels.size(), 10U);
    EXPECT_EQ(chart.columns, 2U);
    std::set<std::string> titles;
    for (const Panel& panel : chart.panels) {
        EXPECT_TRUE(titles.insert(panel.title).second) << panel.title;
        const std::vector<std::string> texts = texts_of(panel);
        // Every level of memory has its name, and the engines that the kernel uses.
        for (const char* level : {"DRAM 4.62 TB/s", "L2 9.07 TB/s", "SMEM 33.4 TB/s"}) {
            EXPECT_THAT(texts, Contains(level)) << panel.title;
        }
        const std::string engine = panel.title == "wmma" ? "mma.fp16 622 TFLOP/s" : "TFLOP/s";
        EXPECT_THAT(texts, Contains(HasSubstr(engine))) << panel.title;
        EXPECT_GT(series_called(panel, "measured").points.size(), 0U);
    }
    EXPECT_TRUE(titles.contains("naive"));
}

// Of a whole device the kernels with most cases are drawn, each case at its newest commit.
TEST_F(RooflineChart, a_roofline_of_many_kernels_is_bounded_and_says_so) {
    const TimedRows rows = read_timed_rows(stored_receipts(receipt("")));
    const Chart chart = roofline_chart(rows);
    ASSERT_EQ(chart.panels.size(), 8U);
    EXPECT_LT(chart.height, 2500);
    EXPECT_THAT(chart.notes.front(),
                testing::MatchesRegex(
                    "8 of [0-9]+ kernels of a device are drawn, of each operation those with "
                    "most cases, each case at its newest commit: [0-9]+ of [0-9]+ times; "
                    "none is of cpu.*h100-sxm\\. --all draws the others too\\."));
    std::map<std::string, std::set<std::string>> shapes;  // by panel
    for (const TimedCase& one : rows.cases) {
        if (one.workload.flops() > 0 && one.about.device.id == "h200") {  // no other is drawn
            shapes[one.kernel].insert(one.shape + way_of(one));
        }
    }
    for (const char* kernel :
         {"adam_cuda", "crossentropy_cuda", "linear_cublaslt", "rows_cuda", "prefill_sm90"}) {
        EXPECT_TRUE(std::ranges::any_of(chart.panels, [&](const Panel& panel) {
            return panel.title == kernel;  // of one device, as all are
        })) << kernel;
    }
    for (const Panel& panel : chart.panels) {
        std::size_t points = 0;
        for (const Series& series : panel.series) {
            EXPECT_FALSE(series.title.starts_with("at ")) << "commits stand apart no more";
            points += series.filled && series.mark != Mark::none ? series.points.size() : 0;
        }
        EXPECT_GE(points, shapes.at(panel.title).size()) << panel.title;
    }
    EXPECT_THAT(chart.title, testing::Not(HasSubstr("cpu"))) << "no kernel of it is drawn";
    // A case stands there as it was timed last.
    const std::vector<Json> first = read_timed_rows({ladder_file}).rows;
    const Chart newest =
        roofline_chart(timed_rows_of(test::joined(first, test::at_commit(first, 'f'))));
    const Chart alone = roofline_chart(timed_rows_of(test::at_commit(first, 'f')));
    ASSERT_EQ(newest.panels.size(), alone.panels.size());
    for (std::size_t i = 0; i < newest.panels.size(); ++i) {
        EXPECT_EQ(newest.panels[i].title, alone.panels[i].title);
        EXPECT_EQ(series_called(newest.panels[i], "measured").points.size(),
                  series_called(alone.panels[i], "measured").points.size());
    }
}

// Nor do twenty-five commits of one kernel have marks of their own.
TEST_F(RooflineChart, many_commits_of_few_kernels_are_drawn_at_the_newest) {
    const std::vector<Json> first = read_timed_rows({training_file}).rows;
    std::vector<Json> rows = first;
    for (char letter = 'a'; letter < 'y'; ++letter) {
        rows = test::joined(std::move(rows), test::at_commit(first, letter));
    }
    const TimedRows all = timed_rows_of(std::move(rows));
    const Chart chart = roofline_chart(all);
    EXPECT_THAT(chart.notes.front(),
                testing::MatchesRegex("Each case at its newest commit: [0-9]+ of [0-9]+ times\\. "
                                      "--all draws the others too\\."));
    ASSERT_EQ(chart.panels.size(), 1U);
    const Chart one = roofline_chart(timed_rows_of(first));
    EXPECT_EQ(series_called(chart.panels[0], "prefill_sm90").points.size(),
              series_called(one.panels[0], "prefill_sm90").points.size());
    EXPECT_THAT(roofline_chart(all, Shown::all).notes, testing::Not(Contains(HasSubstr("--all"))));
}

// Marks of later commits stand right of their place, and legends of many commits are high.
TEST_F(RooflineChart, all_marks_stand_on_axes_that_no_legend_makes_small) {
    const Chart chart = roofline_chart(read_timed_rows(stored_receipts(receipt(""))), Shown::all);
    ASSERT_GT(chart.panels.size(), 20U);
    std::size_t marks = 0;
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const Panel& panel = chart.panels[i];
        const Place place = place_of(chart, i);
        EXPECT_GT(place.width, 400) << panel.title;
        EXPECT_GT(place.height, 220) << panel.title;
        for (const Series& series : panel.series) {
            for (const ChartPoint& point : series.points) {
                if (series.mark != Mark::none) {
                    EXPECT_TRUE(point.x > panel.x.low && point.x < panel.x.high) << panel.title;
                    EXPECT_TRUE(point.y > panel.y.low && point.y < panel.y.high) << panel.title;
                    ++marks;
                }
            }
        }
    }
    EXPECT_GT(marks, 1000U);
}

TEST_F(RooflineChart, the_roof_of_shared_memory_says_that_it_holds_for_both_directions) {
    const Chart chart = roofline_chart(read_timed_rows({training_file}));
    EXPECT_THAT(chart.notes, Contains(HasSubstr("SMEM: loads and stores")));
    const std::string cpu_file = receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz");
    EXPECT_THAT(roofline_chart(read_timed_rows({cpu_file})).notes,
                testing::Not(Contains(HasSubstr("SMEM"))));
}

TEST_F(RooflineChart, says_which_cases_have_no_place_on_it) {
    const Chart chart = roofline_chart(
        read_timed_rows({receipt("h200/2026-11-28-operations-903665520-35dcd76ecc7b.jsonl.gz")}));
    EXPECT_THAT(chart.notes, testing::Contains("3 cases of embedding_cuda not drawn: they do no "
                                               "operations that a roofline counts."));
    const Chart attention = roofline_chart(read_timed_rows({training_file}));
    EXPECT_THAT(attention.notes, testing::Not(testing::Contains(testing::HasSubstr("not drawn"))));
}

TEST_F(RooflineChart, several_devices_and_commits_have_marks_of_their_own) {
    run(2e-6, 4e-6, "a.jsonl");
    device_.name = "another CPU";
    run(2e-6, 3e-6, "b.jsonl");
    const Chart chart = roofline_chart(read_timed_rows({path("a.jsonl"), path("b.jsonl")}));
    const Series& a = series_called(chart.panels.at(0), "cpu_flash on A");
    const Series& b = series_called(chart.panels.at(0), "cpu_flash on B");
    EXPECT_NE(a.mark, b.mark);
    EXPECT_NE(a.colour, b.colour);
    EXPECT_EQ(chart.notes.at(0), "A: cpu (a test's CPU); B: cpu (another CPU)");
}

}  // namespace
}  // namespace raceline

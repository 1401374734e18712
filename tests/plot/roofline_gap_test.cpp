// SPDX-License-Identifier: Apache-2.0
// What a case has left on a roofline: where the line of its gap ends, and what that is called.
#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>

#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "plot/roofline_points.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"

namespace raceline {
namespace {

using test::ladder_file;
using test::receipt;
using test::training_file;
using testing::Contains;
using testing::HasSubstr;

class RooflineGap : public test::WrittenRuns {};

// A line that ends in the middle of nowhere would be read as one that ends on the nearest roof.
TEST_F(RooflineGap, every_gap_ends_on_a_roof_of_its_limiter_or_on_a_bar) {
    std::size_t on_roofs = 0;
    std::size_t on_bars = 0;
    const std::string cpu_file = receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz");
    for (const std::string& file : {training_file, ladder_file, cpu_file}) {
        for (const Panel& panel : roofline_chart(read_timed_rows({file})).panels) {
            for (const Series& gap : panel.series) {
                if (gap.title.find("× left to ") == std::string::npos) {
                    continue;
                }
                const ChartPoint& end = gap.points.at(1);
                const auto passes = [&](const Series& line) {
                    const bool straight = line.line == Line::solid && line.points.size() == 2;
                    const bool own = line.width == 3 && line.colour == gap.colour;
                    if (!straight || (line.colour != Colour::grey && !own)) {
                        return false;
                    }
                    const auto& [from, to] = std::pair(line.points[0], line.points[1]);
                    const double along = std::log(end.x / from.x) / std::log(to.x / from.x);
                    const double y = from.y * std::pow(to.y / from.y, along);
                    return along > 0 && along < 1 && std::abs(y / end.y - 1) < 0.03 &&
                           own == (gap.title.find("(short bar)") != std::string::npos);
                };
                EXPECT_TRUE(std::ranges::any_of(panel.series, passes))
                    << file << " " << panel.title << " " << gap.title;
                const bool bar = gap.title.find("bar") != std::string::npos;
                ++(bar ? on_bars : on_roofs);
            }
        }
    }
    EXPECT_GT(on_roofs, 0U);
    EXPECT_GT(on_bars, 0U);
}

std::vector<std::string> titles_of(const TimedRows& rows) {
    std::vector<std::string> found;
    for (const Panel& panel : roofline_chart(rows).panels) {
        std::ranges::transform(panel.series, std::back_inserter(found), &Series::title);
    }
    return found;
}

// No program is faster than the floor of its launch, however far a roof of memory is.
TEST_F(RooflineGap, a_gap_ends_where_no_program_is_faster) {
    p_.layer1.seconds = {{"dram", 1e-7}};
    p_.limiter = "launch";
    p_.layer2 = {{"launch", 2.5e-6}, {"dram", 1e-7}};
    run(4e-6, 5e-6);
    TimedRows rows = read_timed_rows({path()});
    EXPECT_THAT(titles_of(rows),
                Contains("2.00× left to the floor of the launch (short bar); limited by launch"));
    // What the row says of its problem goes before the terms of the kernel.
    SpeedOfLight& bound = rows.cases.at(0).bound;
    bound.seconds = 4e-6;
    bound.limiter = "flop.mma.fp16";
    EXPECT_THAT(
        titles_of(rows),
        Contains("1.25× left to the bound by flop.mma.fp16 (short bar); limited by launch"));
    bound.seconds = 5e-8;
    bound.limiter = "dram";
    EXPECT_THAT(titles_of(rows), Contains("50.00× left to dram (short bar); limited by launch"));
}

// A datasheet's rate is no roof of the chart: beside it stands the gap to the limiter's own.
TEST_F(RooflineGap, beside_a_datasheet_bound_stands_the_gap_to_the_roof_of_the_limiter) {
    p_.layer1.seconds = {{"dram", 2.5e-6}};
    p_.limiter = "dram";
    run(4e-6, 5e-6);
    TimedRows rows = read_timed_rows({path()});
    SpeedOfLight& bound = rows.cases.at(0).bound;
    bound.seconds = 4e-6;
    bound.limiter = "flop.mma.fp16";
    bound.rates = "datasheet";
    EXPECT_THAT(titles_of(rows),
                Contains("1.25× left to the bound by flop.mma.fp16 at its datasheet's rate (short "
                         "bar), 2.00× to the roof of its limiter dram"));
    std::vector<std::string> words;
    const Chart chart = roofline_chart(rows);
    for (const ChartText& text : chart.panels.at(0).texts) {
        words.push_back(text.text);
    }
    EXPECT_THAT(words, Contains("1.25× (datasheet)"));
}

// Latency, a launch and the tail have no roof: the key does not say that lines lead to it.
TEST_F(RooflineGap, the_key_says_what_gaps_end_on) {
    const std::string roof = " Dotted: the widest gap of each kernel to the roof of its limiter.";
    p_.layer1.seconds = {{"dram", 4e-6}};
    p_.limiter = "dram";
    run(5e-6, 8e-6);
    EXPECT_THAT(roofline_chart(read_timed_rows({path()})).key, HasSubstr(roof));
    for (const char* limiter : {"latency", "launch", "tail"}) {
        p_.limiter = limiter;
        const std::string file = std::string(limiter) + ".jsonl";
        run(5e-6, 8e-6, file);
        TimedRows rows = read_timed_rows({path(file)});
        const std::string none = roofline_chart(rows).key;
        EXPECT_THAT(none, HasSubstr("what the legend names: the roof of its limiter, or of its "
                                    "busiest resource where the limiter"));
        EXPECT_THAT(none, testing::Not(HasSubstr("no program")));
        rows.cases.at(0).bound.seconds = 6e-6;
        rows.cases.at(0).bound.limiter = "launch";
        EXPECT_THAT(roofline_chart(rows).key,
                    HasSubstr("the roof of its limiter, or what no program passes"));
    }
    TimedRows rows = read_timed_rows({path()});
    rows.cases.at(0).predicted.reset();
    EXPECT_THAT(roofline_chart(rows).key, testing::Not(HasSubstr("Dotted")));
}

TEST_F(RooflineGap, no_gap_of_the_committed_receipts_promises_what_no_program_reaches) {
    std::size_t bounded = 0;
    for (const std::string& file : stored_receipts(receipt(""))) {
        for (const TimedCase& one : read_timed_rows({file}).cases) {
            if (!(one.bound.seconds > 0) || !(one.workload.flops() > 0)) {
                continue;
            }
            TimedRows alone;
            alone.cases = {one};
            for (const auto& [group, points] : roofline_groups(alone)) {
                const double most = one.workload.flops() / one.bound.seconds;
                EXPECT_LE(points.at(0).limit, most * (1 + 1e-9)) << file << " " << one.shape;
                bounded += points.at(0).bound.empty() ? 0 : 1;
            }
        }
    }
    EXPECT_GT(bounded, 100U);
}

// The resource that takes the most time of its own need not be the one that a kernel waits for, but
// no program passes its roof.
TEST_F(RooflineGap, a_gap_leads_to_the_predicted_limiter_or_to_a_nearer_roof) {
    p_.layer1.seconds = {{"dram", 1e-6}, {"op.ex2", 8e-7}};
    p_.limiter = "op.ex2";
    run(3e-6, 4e-6);
    EXPECT_THAT(titles_of(read_timed_rows({path()})),
                Contains("4.00× left to dram (short bar), 5.00× to its limiter op.ex2"));
    p_.limiter = "tail";
    which_.workload.seqlen_k = 4096;
    run(3e-6, 4e-6, "tail.jsonl");
    EXPECT_THAT(titles_of(read_timed_rows({path("tail.jsonl")})),
                Contains("4.00× left to dram (short bar); limited by tail"));
}

TEST_F(RooflineGap, the_gap_of_a_launch_is_labelled_only_where_no_resource_limits) {
    p_.layer1.seconds = {{"dram", 1e-7}};
    p_.limiter = "launch";
    run(4e-6, 5e-6);
    EXPECT_THAT(titles_of(read_timed_rows({path()})), Contains(HasSubstr("; limited by launch")));
    p_.limiter = "dram";
    p_.layer1.seconds = {{"dram", 4e-6}};
    which_.workload.seqlen_k = 4096;
    run(5e-6, 8e-6);
    const std::vector<std::string> titles = titles_of(read_timed_rows({path()}));
    EXPECT_THAT(titles, Contains("2.00× left to dram (short bar)"));
    EXPECT_THAT(titles, testing::Not(Contains(HasSubstr("limited by"))));
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Trajectories and ladders of several devices, and of rungs on shapes of their own.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "other_rows.hpp"
#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "report/ladder_tracks.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::vector<Json> rows_of_ladder() {
    return read_timed_rows({std::string(RACELINE_SOURCE_DIR) +
                            "/receipts/h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz"})
        .rows;
}

// On another GPU, but for the rungs of these names.
std::vector<Json> on_another_gpu(std::vector<Json> rows, const std::set<std::string>& but) {
    std::erase_if(rows, [&](const Json& row) {
        return row.contains("kernel") && but.contains(row.at("kernel").get<std::string>());
    });
    return test::other_rows(rows, "x", [](Json& row) {
        row["device"]["id"] = "h100-sxm";
        row["device"]["name"] = "NVIDIA H100 80GB HBM3";
    });
}

std::vector<std::string> names_of(const Axis& axis) {
    std::vector<std::string> names;
    for (const auto& [at, name] : axis.ticks) {
        names.push_back(name);
    }
    return names;
}

// Each device has axes of its own, whatever rungs the other one ran.
TEST(LadderChart, two_devices_have_panels_of_their_own) {
    const std::vector<Json> rows = rows_of_ladder();
    const TimedRows both =
        timed_rows_of(test::joined(on_another_gpu(rows, {"tiled", "wmma"}), rows));
    for (const Chart& chart :
         {trajectory_chart(both, "prefill", ""), ladder_chart(both, "prefill", "")}) {
        ASSERT_EQ(chart.panels.size(), 2U) << chart.title;
        std::set<std::size_t> rungs;
        for (std::size_t i = 0; i < chart.panels.size(); ++i) {
            const Panel& panel = chart.panels[i];
            EXPECT_THAT(panel.title, HasSubstr("h"));
            const Axis& named = panel.y.ticks.empty() ? panel.x : panel.y;
            rungs.insert(named.ticks.size());
            // Where one device did not run a rung, it has no mark and no name of it.
            for (const Series& series : panel.series) {
                EXPECT_TRUE(series.title.empty() || series.points.size() == named.ticks.size());
            }
            const Place place = place_of(chart, i);
            for (std::size_t a = 0; a < panel.texts.size(); ++a) {
                for (std::size_t b = a + 1; b < panel.texts.size(); ++b) {
                    // Those of one step stand below each other, a line apart.
                    const bool step = panel.texts[a].x == panel.texts[b].x &&
                                      panel.texts[a].lines_below != panel.texts[b].lines_below;
                    EXPECT_FALSE(!step && overlap(box_of(panel, place, panel.texts[a]),
                                                  box_of(panel, place, panel.texts[b])))
                        << panel.texts[a].text << " and " << panel.texts[b].text;
                }
            }
        }
        EXPECT_EQ(rungs, (std::set<std::size_t>{3, 5})) << chart.title;
        EXPECT_NE(chart.panels[0].title, chart.panels[1].title);
    }
}

TEST(LadderChart, names_the_device_that_its_times_are_of) {
    const TimedRows rows = timed_rows_of(rows_of_ladder());
    for (const Chart& chart :
         {trajectory_chart(rows, "prefill", ""), ladder_chart(rows, "prefill", "")}) {
        ASSERT_EQ(chart.panels.size(), 1U);
        EXPECT_EQ(chart.panels[0].title, "on h200");
    }
}

// Speed-ups stand under their rungs, beside the lines that join these.
TEST(LadderChart, no_line_runs_through_words) {
    const TimedRows rows = timed_rows_of(rows_of_ladder());
    std::size_t words = 0;
    for (const char* track : {"prefill", "decode"}) {
        const Chart chart = trajectory_chart(rows, track, "");
        const Panel& panel = chart.panels.at(0);
        const Place place = place_of(chart, 0);
        for (const ChartText& text : panel.texts) {
            for (const Series& series : panel.series) {
                for (std::size_t i = 0; i + 1 < series.points.size(); ++i) {
                    Series piece;
                    piece.points = {series.points[i], series.points[i + 1]};
                    EXPECT_FALSE(
                        overlap(box_of(panel, place, text), box_of_line(panel, place, piece)))
                        << text.text << " in " << chart.title;
                }
            }
            ++words;
        }
    }
    EXPECT_GT(words, 20U);
}

// Of the rungs that are drawn, not of all rows of the files beside that.
TEST(LadderChart, says_once_what_is_stale) {
    const TimedRows rows = timed_rows_of(rows_of_ladder());
    const auto on_stale = [](const Chart& chart) {
        return std::ranges::count_if(chart.notes, [](const std::string& note) {
            return note.ends_with(stale_note) || note.find("has changed since these times") < 99;
        });
    };
    ASSERT_THAT(rows.notes, Contains(testing::EndsWith(stale_note)));
    const Chart climb = trajectory_chart(rows, "prefill", "");
    EXPECT_EQ(on_stale(climb), 1);
    EXPECT_THAT(climb.notes, Contains(HasSubstr("rung has changed since these times")));
    EXPECT_EQ(on_stale(ladder_chart(rows, "decode", "")), 1);
}

TEST(LadderChart, says_of_which_other_track_rungs_were_measured) {
    std::vector<Json> rows = rows_of_ladder();
    std::set<std::string_view> prefill;
    for (const Kernel* rung : rungs_of("prefill")) {
        prefill.insert(rung->name);
    }
    std::erase_if(rows, [&](const Json& row) {
        return row.contains("kernel") && !prefill.contains(row.at("kernel").get<std::string>());
    });
    const Chart decode = ladder_chart(timed_rows_of(rows), "decode", "");
    EXPECT_THAT(decode.notes.front(),
                "No rung of track decode was measured in these receipts; of prefill some were: "
                "--track prefill.");
    const Chart none = ladder_chart(timed_rows_of({}), "decode", "");
    EXPECT_EQ(none.notes.front(), "No rung of track decode was measured in these receipts.");
}

// What was not run on a shape may well take it: a picture says what the receipts have.
TEST(LadderChart, says_of_rungs_on_other_shapes_which_ones_these_are) {
    std::vector<Json> rows = rows_of_ladder();
    const Chart usual = trajectory_chart(timed_rows_of(rows), "prefill", "");
    const std::string reference = usual.title.substr(usual.title.find(" on ") + 4);
    EXPECT_THAT(names_of(usual.panels.at(0).x), Each(Not(HasSubstr("*"))));

    // Of two rungs another shape alone is left.
    const std::set<std::string> elsewhere{"online", "fused"};
    const auto is_reference = [length = parse_shape(reference).seqlen_k](const Json& row) {
        return row.contains("workload") && row.at("workload").at("seqlen_k") == length;
    };
    std::erase_if(rows, [&](const Json& row) {
        return row.contains("kernel") && elsewhere.contains(row.at("kernel").get<std::string>()) &&
               is_reference(row);
    });
    const Chart chart = ladder_chart(timed_rows_of(rows), "prefill", reference);
    EXPECT_THAT(chart.title, HasSubstr(reference));
    EXPECT_THAT(names_of(chart.panels.at(0).y), Contains("online *"));
    EXPECT_THAT(chart.notes,
                Contains(AllOf(HasSubstr("on another shape only"), HasSubstr("online"))));
    EXPECT_THAT(chart.notes, Each(Not(HasSubstr("do not take this shape"))));

    // On a shape that nobody ran no title says that this is of it.
    const Chart none =
        ladder_chart(timed_rows_of(rows), "prefill", "h=16,q=32,k=32,d=64,dtype=fp16");
    EXPECT_THAT(none.title, Not(HasSubstr("h=16,q=32")));
    EXPECT_THAT(none.notes,
                Contains(AllOf(HasSubstr("was measured on h=16,q=32"), HasSubstr("; drawn is "))));
}

}  // namespace
}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// What all charts share, and those of diffs, the scorecard and the ladder.
#include "plot/charts.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "plot/drawn_receipts.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/other_rows.hpp"
#include "plot/placement.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using test::compare_file;
using test::ladder_file;
using test::receipt;
using test::series_called;
using test::training_file;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class Charts : public test::WrittenRuns {};

TEST_F(Charts, a_diff_tells_missed_predictions_and_tiles_apart) {
    const TimedRows rows =
        read_timed_rows({receipt("h200/2026-11-21-ladder-gap-12c3875edbd2.jsonl.gz")});
    const Chart chart = diff_chart(diff_of(rows, rows));
    const Panel& panel = chart.panels.at(0);
    std::set<std::string> names;
    for (const auto& [place, name] : panel.y.ticks) {
        EXPECT_TRUE(names.insert(name).second) << name << " twice";
    }
    std::size_t hollow = 0, all = 0;
    for (const Series& series : panel.series) {
        const bool missed = series.title.find("mispredicted") != std::string::npos;
        EXPECT_EQ(missed, !series.filled) << series.title;
        hollow += missed ? series.points.size() : 0;
        all += series.line == Line::none ? series.points.size() : 0;
    }
    EXPECT_GT(hollow, 0U);
    EXPECT_EQ(all, names.size());
    EXPECT_GT(chart.width - panel.left_margin, 400);
}

TEST_F(Charts, a_diff_says_once_what_all_rows_share_and_caps_names) {
    const TimedRows rows =
        read_timed_rows({receipt("h200/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz")});
    ReceiptDiff diff = diff_of(rows, rows);
    ASSERT_GT(diff.cases.size(), 1U);
    const Panel panel = diff_chart(diff).panels.at(0);
    EXPECT_THAT(panel.title, HasSubstr("q=512,k=512,d=64"));
    for (const auto& [place, name] : panel.y.ticks) {
        EXPECT_THAT(name, testing::Not(HasSubstr("q=512"))) << "stands in the title";
    }
    // Of two rows that only their ways of launching tell apart no name has the tile or the device.
    ReceiptDiff twice = diff;
    twice.cases.resize(1);
    twice.cases.push_back(twice.cases.front());
    twice.cases.back().after.interleaved = !twice.cases.back().after.interleaved;
    const Chart of_twice = diff_chart(twice);
    for (const auto& [place, name] : of_twice.panels.at(0).y.ticks) {
        EXPECT_THAT(name, testing::MatchesRegex("(cold|warm), [a-z]+, [a-z ]+"));
    }
    for (CaseDiff& one : diff.cases) {
        one.after.kernel += std::string(90, 'x') + "_same_end_of_all";
        one.after.kernel = "begins_the_same_with_many_letters_" + one.after.kernel;
    }
    const Chart chart = diff_chart(diff);
    std::set<std::string> names;
    for (const auto& [place, name] : chart.panels.at(0).y.ticks) {
        EXPECT_LE(letters(name), 86U);
        EXPECT_TRUE(names.insert(name).second) << name << " twice";
    }
    EXPECT_LT(chart.panels.at(0).left_margin, chart.width / 2);
}

// The scorecard counts measurements alone: a note that adds comparisons says another number.
TEST_F(Charts, notes_count_unsettled_measurements_and_comparisons_apart) {
    std::vector<Json> compared = read_timed_rows({compare_file}).rows;
    for (Json& row : compared) {
        if (row.at("kind") == "comparison") {
            row.at("measurement").at("unsettled") = true;
            row.at("peer").at("unsettled") = true;
            break;
        }
    }
    const auto notes = timed_rows_of(compared).notes;
    EXPECT_THAT(notes, Contains(HasSubstr("1 row left out: a comparison")));
    EXPECT_THAT(notes, testing::Not(Contains(HasSubstr("left out: a measurement"))));
    std::vector<Json> measured = read_timed_rows({training_file}).rows;
    for (Json& row : measured) {
        if (row.at("kind") == "measurement") {
            row.at("measurement").at("unsettled") = true;
            break;
        }
    }
    EXPECT_THAT(timed_rows_of(measured).notes,
                Contains(HasSubstr("1 row left out: a measurement of a kernel alone")));
}

TEST_F(Charts, extreme_times_are_left_out_and_counted) {
    run(2e-6, 5e-324, "a.jsonl");
    run(2e-6, 1e308, "b.jsonl");
    run(2e-6, 4e-6, "c.jsonl");
    const TimedRows rows = read_timed_rows({path("a.jsonl"), path("b.jsonl"), path("c.jsonl")});
    for (Chart chart : {roofline_chart(rows), sweep_chart(rows, "batch"), compare_chart(rows)}) {
        leave_out_extremes(chart);
        for (const Panel& panel : chart.panels) {
            EXPECT_TRUE(panel.y.low < panel.y.high && drawable(panel.y.low) &&
                        drawable(panel.y.high))
                << chart.title;
            for (const Series& series : panel.series) {
                for (const ChartPoint& point : series.points) {
                    EXPECT_TRUE(std::isnan(point.x) || (drawable(point.x) && drawable(point.y)));
                }
            }
        }
    }
    Chart chart = roofline_chart(rows);
    leave_out_extremes(chart);
    EXPECT_THAT(chart.notes, Contains(HasSubstr("not drawn: beyond what any device reaches")));
    EXPECT_EQ(series_called(chart.panels.at(0), "cpu_flash").points.size(), 1U);
}

// Whole devices are no picture to look through: part of them is drawn, by a rule that a note
// states.
TEST_F(Charts, pictures_of_many_receipts_are_bounded_and_say_so) {
    const TimedRows rows = read_timed_rows(stored_receipts(receipt("")));
    const auto count_rows = [](const Chart& chart) {
        std::size_t count = 0;
        for (const Panel& panel : chart.panels) {
            count += panel.y.ticks.size();
        }
        return count;
    };
    const Chart compare = compare_chart(rows);
    EXPECT_EQ(count_rows(compare), 60U);
    EXPECT_LT(compare.height, 60 * 45);  // of rows with their share of heads
    EXPECT_THAT(compare.notes.front(),
                testing::MatchesRegex("[0-9]+ of [0-9]+ comparisons are drawn: .* where ours does "
                                      "worst.* --all draws the rest too\\."));
    const Chart whole = compare_chart(rows, Shown::all);
    EXPECT_GT(count_rows(whole), 200U);
    EXPECT_THAT(whole.notes, testing::Not(Contains(HasSubstr("--all"))));
    // Nothing that is left out of a kernel with fresh comparisons, the newest of its call and peer,
    // is worse than what is drawn.
    double best_drawn = 0;
    std::set<std::string> drawn;
    std::set<std::string> fresh;
    for (const TimedPeer& peer : rows.peers) {
        if (!peer.stale) {
            fresh.insert(peer.kernel + " on " + peer.device);
        }
    }
    for (const Panel& panel : compare.panels) {
        const std::string kernel = panel.title.substr(0, panel.title.find(' '));
        const std::string on_device = panel.title.substr(0, panel.title.find(" at "));
        EXPECT_FALSE(panel.title.find("stale") != std::string::npos && fresh.contains(on_device))
            << panel.title;
        std::map<double, double> least;  // by row
        for (const Series& series : panel.series) {
            for (const ChartPoint& point : series.points) {
                if (series.bars == Bars::along_x) {
                    const double row = std::round(point.y);
                    const auto known = least.try_emplace(row, point.x).first;
                    known->second = std::min(known->second, point.x);
                }
            }
        }
        for (const auto& [row, ratio] : least) {
            best_drawn = std::max(best_drawn, ratio);
        }
        for (const auto& [y, shape] : panel.y.ticks) {
            drawn.insert(kernel + " " + shape);
        }
    }
    const auto is_newest = [&](const TimedPeer& peer) {
        return std::ranges::none_of(rows.peers, [&](const TimedPeer& other) {
            return other.written > peer.written && other.device == peer.device &&
                   other.kernel == peer.kernel && other.shape == peer.shape &&
                   other.peer == peer.peer && other.form == peer.form;
        });
    };
    for (const TimedPeer& peer : rows.peers) {
        if (!peer.stale && is_newest(peer) && !drawn.contains(peer.kernel + " " + peer.shape)) {
            EXPECT_GE(peer.ratio, best_drawn) << peer.kernel << " " << peer.shape;
        }
    }
    // Of two runs the cases that changed most.
    std::vector<Json> later = test::at_commit(rows.rows, 'f');
    for (Json& row : later) {
        if (row.at("kind") == "measurement" && row.contains("seconds_median")) {
            row["seconds_median"] = 2 * row.at("seconds_median").get<double>();
        }
    }
    const ReceiptDiff diff = diff_of(rows, timed_rows_of(std::move(later)));
    ASSERT_GT(diff.cases.size(), 500U);
    const Chart changes = diff_chart(diff);
    EXPECT_EQ(count_rows(changes), 80U);
    EXPECT_LT(changes.height, 2000);
    EXPECT_THAT(changes.notes.front(),
                testing::MatchesRegex("80 of [0-9]+ cases are drawn, those whose time changed "
                                      "most\\. --all draws the others too\\."));
    EXPECT_EQ(count_rows(diff_chart(diff, Shown::all)), diff.cases.size());
}

TEST_F(Charts, scorecard_keeps_first_sight_and_misses_apart) {
    run(1.0e-3, 1.1e-3, "a.jsonl");
    another_run();
    run(1.0e-3, 2.0e-3, "b.jsonl");
    Scorecard card(std::span<const build_info::EmbeddedSight>{});
    card.add(path("a.jsonl"));
    card.add(path("b.jsonl"));
    const Chart chart = scorecard_chart(card);
    ASSERT_EQ(chart.panels.size(), 3U);
    EXPECT_EQ(chart.panels[0].title, "first sight: 1 of 2 rows, 100 % within 20 %");
    EXPECT_EQ(series_called(chart.panels[0], "within 20 % (1)").points.at(0).x, 1.1e-3);
    EXPECT_EQ(series_called(chart.panels[1], "missed (1)").points.at(0).x, 2.0e-3);
    // The model's median error of the seen row, over 100 µs: half.
    const Series& model = series_called(chart.panels[2], "model");
    EXPECT_THAT(model.points, Contains(Field(&ChartPoint::y, testing::DoubleNear(50, 1e-9))));
}

// A code host shows it some 830 pixels wide: of a wider one the letters shrink.
TEST_F(Charts, scorecard_is_as_wide_as_a_page_shows_it) {
    Scorecard card;
    card.add_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts");
    const Chart chart = scorecard_chart(card);
    EXPECT_LE(chart.width, 840);
    const Place first = place_of(chart, 0);
    const Place errors = place_of(chart, 2);
    EXPECT_GT(first.width, 280);
    EXPECT_GT(first.height, 250);
    EXPECT_LT(errors.top, first.bottom) << "below the others";
    EXPECT_GT(errors.width, 700);
    // Names of regimes stand beside each other, not on each other.
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const std::vector<Box> boxes = boxes_of_words(chart.panels[i], place_of(chart, i));
        ASSERT_EQ(boxes.size(), 3U);
        EXPECT_FALSE(overlap(boxes[0], boxes[1]) || overlap(boxes[1], boxes[2])) << i;
    }
}

// Hits are more, and what is drawn last is seen: still no hit stands under a miss.
TEST_F(Charts, hits_are_drawn_over_misses_which_are_smaller) {
    Scorecard card;
    card.add_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts");
    const Chart chart = scorecard_chart(card);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto& all = chart.panels.at(i).series;
        const auto begins = [](std::string_view words) {
            return [words](const Series& series) { return series.title.starts_with(words); };
        };
        const auto missed = std::ranges::find_if(all, begins("missed"));
        const auto hits = std::ranges::find_if(all, begins("within"));
        ASSERT_NE(missed, all.end());
        ASSERT_NE(hits, all.end());
        EXPECT_LT(missed - all.begin(), hits - all.begin());
        EXPECT_LT(missed->size, hits->size);
    }
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg), HasSubstr(" ps 0.45 "));
}

TEST_F(Charts, trajectory_multiplies_up_to_the_whole_climb) {
    const TimedRows rows = read_timed_rows({ladder_file});
    const Panel panel = trajectory_chart(rows, "prefill", "").panels.at(0);
    const Series& measured = series_called(panel, "measured");
    ASSERT_GE(measured.points.size(), 5U);
    EXPECT_EQ(measured.points.front().y, 1);
    std::vector<std::string> rungs;
    for (const auto& [place, name] : panel.x.ticks) {
        rungs.push_back(name);
    }
    EXPECT_THAT(rungs, ElementsAre("naive", "tiled", "online", "fused", "wmma"));
    // The step that is written under `tiled` is the one that is drawn: naive is its predecessor.
    const std::string step = fmt::format("{:.2f}×", measured.points[1].y);
    EXPECT_THAT(panel.texts, Contains(Field(&ChartText::text, step)));
}

TEST_F(Charts, ladder_and_trajectory_show_the_same_times) {
    const TimedRows rows = read_timed_rows({ladder_file});
    const Chart ladder = ladder_chart(rows, "decode", "");
    const Chart climb = trajectory_chart(rows, "decode", "");
    const auto& times = series_called(ladder.panels.at(0), "measured").points;
    const auto& speeds = series_called(climb.panels.at(0), "measured").points;
    ASSERT_EQ(times.size(), speeds.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
        EXPECT_NEAR(times[i].x * speeds[i].y, times[0].x, 1e-9 * times[0].x);
    }
    EXPECT_THROW(static_cast<void>(ladder_chart(rows, "sideways", "")), Error);
}

// A file that is named twice, by whatever name, was measured once.
TEST_F(Charts, a_file_named_twice_counts_once) {
    const TimedRows once = read_timed_rows({compare_file});
    const TimedRows twice = read_timed_rows(
        {compare_file, compare_file,
         receipt("h200/../h200/") + compare_file.substr(compare_file.rfind('/') + 1)});
    EXPECT_EQ(twice.rows.size(), once.rows.size());
    EXPECT_EQ(twice.peers.size(), once.peers.size());
    const Chart chart = compare_chart(twice);
    EXPECT_EQ(series_called(chart.panels.at(0), "FlashAttention-2").points.size(), 36U);
    // Nobody looks for a legend below so many shapes.
    EXPECT_TRUE(chart.panels[0].legend_above);
    const Place place = place_of(chart, 0);
    EXPECT_GT(place.legend, place.top);
}

TEST_F(Charts, a_diff_names_its_sides) {
    const TimedRows rows = read_timed_rows({training_file});
    ReceiptDiff diff = diff_of(rows, rows);
    diff.before = "old.jsonl";
    diff.after = "new.jsonl";
    EXPECT_THAT(diff_chart(diff).title, HasSubstr("old.jsonl before, new.jsonl after"));
}

TEST_F(Charts, receipts_without_points_say_what_is_missing) {
    std::ofstream(path("empty.jsonl")).close();
    const TimedRows rows = read_timed_rows({path("empty.jsonl")});
    EXPECT_THAT(rows.notes, ElementsAre(HasSubstr("no rows")));
    EXPECT_THAT(roofline_chart(rows).notes, Contains(HasSubstr("No measured case")));
    EXPECT_THAT(compare_chart(rows).notes, Contains(HasSubstr("No settled comparison")));
    EXPECT_THAT(trajectory_chart(rows, "prefill", "").notes, Contains(HasSubstr("No rung")));
    EXPECT_THAT(ladder_chart(rows, "decode", "").notes, Contains(HasSubstr("No rung")));
    EXPECT_THAT(sweep_chart(rows, "").notes, Contains(HasSubstr("No three cases")));
    EXPECT_THAT(scorecard_chart(Scorecard(std::span<const build_info::EmbeddedSight>{})).notes,
                Contains(HasSubstr("No row that counts")));
}

TEST_F(Charts, broken_stale_and_refused_rows_are_said) {
    run(2e-6, 4e-6);
    refuse(2e-6);
    std::ofstream(path(), std::ios::app) << "{\"kind\":\"nonsense\"}\n{\"half";
    const TimedRows rows = read_timed_rows({path()});
    EXPECT_EQ(rows.cases.size(), 1U);
    EXPECT_THAT(rows.notes, Contains(HasSubstr("1 broken line left out")));
    EXPECT_THAT(rows.notes, Contains(HasSubstr("its last line is unfinished")));
    EXPECT_THAT(rows.notes, Contains(HasSubstr("the gate refused the kernel")));
    const TimedRows old =
        read_timed_rows({receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz")});
    EXPECT_THAT(old.notes, Contains(HasSubstr("stale: the kernel has changed since")));
}

}  // namespace
}  // namespace raceline

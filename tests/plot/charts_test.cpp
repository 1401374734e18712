// SPDX-License-Identifier: Apache-2.0
// Series of charts from the committed receipts and from rows written by hand.
#include "plot/charts.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "other_rows.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/peer_looks.hpp"
#include "plot/placement.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

std::string receipt(const std::string& name) {
    return std::string(RACELINE_SOURCE_DIR) + "/receipts/" + name;
}
const std::string compare_file = receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz");
const std::string training_file =
    receipt("h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz");
const std::string ladder_file = receipt("h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz");

const Series& series_called(const Panel& panel, const std::string& title) {
    const auto found = std::ranges::find(panel.series, title, &Series::title);
    if (found == panel.series.end()) {
        throw std::runtime_error("no series " + title);
    }
    return *found;
}

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

TEST_F(Charts, stale_comparisons_are_hollow_and_the_key_says_so) {
    TimedRows rows = read_timed_rows({compare_file});
    ASSERT_GT(rows.peers.size(), 1U);
    for (TimedPeer& peer : rows.peers) {
        peer.stale = false;
    }
    EXPECT_THAT(compare_chart(rows).key, testing::Not(HasSubstr("Hollow")));
    rows.peers.front().stale = true;
    const Chart chart = compare_chart(rows);
    EXPECT_THAT(chart.key, HasSubstr("Hollow: stale"));
    std::size_t hollow = 0, filled = 0;
    for (const Panel& panel : chart.panels) {
        for (const Series& series : panel.series) {
            if (series.mark != Mark::none) {
                (series.filled ? filled : hollow) += series.points.size();
            }
        }
    }
    EXPECT_EQ(hollow, 1U);
    EXPECT_EQ(hollow + filled, rows.peers.size());
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

TEST_F(Charts, ratios_have_grid_lines_where_they_are_read) {
    EXPECT_THAT(ratio_places(0.9, 3.3), testing::IsSupersetOf({1.0, 1.25, 1.5, 2.0, 3.0}));
    EXPECT_THAT(ratio_places(0.05, 30), testing::IsSupersetOf({0.1, 0.5, 1.0, 2.0, 10.0}));
    for (const double high : {2.0, 3.3, 10.0, 100.0, 1e6}) {
        EXPECT_LE(ratio_places(0.7, high).size(), 10U) << high;
    }
    const std::string script =
        gnuplot_script(compare_chart(read_timed_rows({compare_file})), PictureForm::svg);
    EXPECT_THAT(script, HasSubstr(" 1.25, 1.5, "));
    EXPECT_THAT(script, HasSubstr("set grid lc rgb '#cfcfcf'"));
}

TEST_F(Charts, lines_of_a_sweep_differ_in_dashes_and_marks_where_colours_return) {
    constexpr std::size_t most_lines = 12;
    std::set<std::pair<Colour, Line>> lines;
    std::set<std::pair<Colour, Mark>> marks;
    for (std::size_t i = 0; i < most_lines; ++i) {
        EXPECT_TRUE(lines.insert({nth_colour(i), nth_dash(i)}).second) << i;
        EXPECT_TRUE(marks.insert({nth_colour(i), nth_mark(i)}).second) << i;
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(receipt("h200"))) {
        if (entry.path().string().ends_with(".jsonl.gz")) {
            files.push_back(entry.path().string());
        }
    }
    std::ranges::sort(files);
    const Chart chart = sweep_chart(read_timed_rows(files), "length-of-same-tokens");
    std::set<std::pair<Colour, Line>> drawn;
    std::size_t predicted = 0;
    for (const Series& series : chart.panels.at(0).series) {
        if (series.mark == Mark::none && !series.points.empty()) {
            ++predicted;
            drawn.insert({series.colour, series.line});
        }
    }
    EXPECT_EQ(predicted, most_lines);
    EXPECT_EQ(drawn.size(), predicted);
    EXPECT_THAT(chart.key, HasSubstr("other dashes"));
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg), HasSubstr(" dt 4 "));
    EXPECT_THAT(gnuplot_script(chart, PictureForm::terminal), HasSubstr("with points pt 'L'"));
}

TEST_F(Charts, comparisons_of_two_commits_have_panels_of_their_own) {
    const Chart chart = compare_chart(
        read_timed_rows({compare_file,
                         receipt("h200/2026-11-22-compare-spread-3d1ff90bf28f.jsonl.gz"),
                         receipt("h200/2026-11-22-compare-prefill_mma-4780f87e724b.jsonl.gz")}),
        Shown::all);
    ASSERT_EQ(chart.panels.size(), 3U);
    EXPECT_EQ(chart.columns, 1U);
    EXPECT_THAT(chart.panels[0].title, HasSubstr("prefill_sm90 on h200 at 4b2ec027 of 2026-11-23"));
    EXPECT_THAT(chart.panels[1].title, HasSubstr("prefill_sm90 on h200 at 3d1ff90b"));
    EXPECT_THAT(chart.panels[1].title, HasSubstr("stale"));
    EXPECT_THAT(chart.panels[2].title, HasSubstr("prefill_mma"));
    // A peer looks the same in all of them.
    const Series& first = series_called(chart.panels[0], "fa2");
    const Series& last = series_called(chart.panels[2], "fa2");
    EXPECT_EQ(first.colour, last.colour);
    EXPECT_EQ(first.mark, last.mark);
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

// Whatever stands beside it: a picture of one file, of another one, and the page.
TEST_F(Charts, a_peer_has_one_look_everywhere) {
    const Chart training = compare_chart(read_timed_rows({compare_file}));
    const Chart e4m3 = compare_chart(
        read_timed_rows({receipt("h200/2026-11-23-compare-e4m3-4b2ec0278ce6.jsonl.gz")}));
    const Series& among = series_called(training.panels[0], "fa3");
    const Series& alone = series_called(e4m3.panels[0], "fa3");
    EXPECT_EQ(among.colour, alone.colour);
    EXPECT_EQ(among.mark, alone.mark);
    EXPECT_NE(among.colour, series_called(training.panels[0], "fa2").colour);
    // Of all receipts no two look alike, and none of one kernel share a colour.
    const TimedRows all = read_timed_rows(stored_receipts(receipt("")));
    const std::vector<std::size_t> numbers = peer_numbers(all.peers);
    std::map<std::pair<Colour, Mark>, std::string> looks;
    std::map<std::pair<std::string, Colour>, std::string> colours;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const TimedPeer& peer = all.peers[i];
        // Forms of PyTorch on a CPU are peers of their own.
        const std::string name =
            peer.peer + (peer.peer == "torch_cpu" ? " " + peer_form(peer) : "");
        const Colour colour = peer_colour(numbers[i]);
        EXPECT_EQ(looks.try_emplace({colour, peer_mark(numbers[i])}, name).first->second, name);
        EXPECT_EQ(colours.try_emplace({peer.kernel, colour}, name).first->second, name);
    }
    EXPECT_GE(looks.size(), 10U);
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
    EXPECT_LT(compare.height, 2500);
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

TEST_F(Charts, compare_has_a_point_for_each_shape_and_peer) {
    const TimedRows rows = read_timed_rows({compare_file});
    const Chart chart = compare_chart(rows);
    const Panel& panel = chart.panels.at(0);
    EXPECT_EQ(panel.y.ticks.size(), 36U);
    for (const char* peer : {"cudnn", "fa2", "fa3", "fa4", "flashinfer"}) {
        const Series& series = series_called(panel, peer);
        ASSERT_EQ(series.points.size(), 36U) << peer;
        for (const ChartPoint& point : series.points) {
            EXPECT_LE(point.low, point.x);
            EXPECT_LE(point.x, point.high);
            EXPECT_GE(point.low, panel.x.low);
            EXPECT_LE(point.high, panel.x.high);
        }
    }
    // The first row of the file, as it stands there.
    const TimedPeer& first = rows.peers.at(0);
    EXPECT_THAT(series_called(panel, first.peer).points,
                Contains(Field(&ChartPoint::x, first.ratio)));
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

// Below small panels a legend stands nearer to the next one's title than to its own marks.
TEST_F(Charts, each_of_several_comparisons_has_its_legend_above) {
    const Chart chart = compare_chart(read_timed_rows(
        {receipt("h200/2026-11-22-compare-spread-prefill_mma-9065707500a7.jsonl.gz"),
         receipt("h200/2026-11-23-compare-decode_sm90-b29739d91fca.jsonl.gz")}));
    ASSERT_GT(chart.panels.size(), 2U);
    double before = 1;
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const Place place = place_of(chart, i);
        EXPECT_GT(place.legend, place.top) << chart.panels[i].title;
        EXPECT_LT(place.legend, before) << chart.panels[i].title;
        before = place.bottom;
    }
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

TEST_F(Charts, sweep_finds_the_field_and_follows_changes_of_the_tile) {
    const TimedRows rows = read_timed_rows({training_file});
    const Chart chart = sweep_chart(rows, "");
    EXPECT_EQ(chart.title, "Time over length at the same number of tokens on h200");
    const Series& line = series_called(chart.panels.at(0), "prefill_sm90 h=32,d=64");
    EXPECT_THAT(line.points,
                ElementsAre(Field(&ChartPoint::x, 512), Field(&ChartPoint::x, 1024),
                            Field(&ChartPoint::x, 2048), Field(&ChartPoint::x, 4096),
                            Field(&ChartPoint::x, 8192), Field(&ChartPoint::x, 16384)));
    EXPECT_THROW(static_cast<void>(sweep_chart(rows, "colour")), Error);
}

std::vector<std::string> titles_of(const Panel& panel) {
    std::vector<std::string> titles;
    for (const Series& series : panel.series) {
        if (!series.title.empty()) {
            titles.push_back(series.title);
        }
    }
    return titles;
}

// A device has many kernels and commits: each kernel of the API is there as it was measured last.
TEST_F(Charts, a_sweep_of_a_whole_device_begins_with_every_kernel_of_the_api) {
    std::vector<std::string> files;
    for (const std::string& file : stored_receipts(receipt(""))) {
        if (file.find("/h200/") != std::string::npos) {
            files.push_back(file);
        }
    }
    const TimedRows rows = read_timed_rows(files);
    const Chart chart = sweep_chart(rows, "");
    std::vector<std::string> titles;
    for (const Panel& panel : chart.panels) {
        const std::vector<std::string> here = titles_of(panel);
        EXPECT_LE(here.size(), 12U) << panel.title;
        titles.insert(titles.end(), here.begin(), here.end());
    }
    for (const char* kernel : {"prefill_sm90 ", "prefill_sm90_fp8 ", "prefill_mma ", "decode_sm90 ",
                               "adam_cuda ", "linear_cublaslt "}) {
        EXPECT_THAT(titles, Contains(testing::StartsWith(kernel)));
    }
    // Of one kernel and case the commit that was measured last: that of the newest row.
    std::string newest;
    std::string commit;
    for (const TimedCase& one : rows.cases) {
        if (one.kernel == "prefill_sm90" && one.workload.headdim == 128 &&
            one.workload.heads_q == 16 && one.workload.batch * one.workload.seqlen_q == 16384 &&
            one.workload.seqlen_q == one.workload.seqlen_k && one.written > newest) {
            newest = one.written;
            commit = one.commit.substr(0, 8);
        }
    }
    EXPECT_THAT(titles, Contains(testing::AllOf(testing::StartsWith("prefill_sm90 h=16,d=128"),
                                                HasSubstr(" at " + commit))));
    EXPECT_EQ(std::ranges::count_if(titles,
                                    [](const std::string& title) {
                                        return title.starts_with(
                                            "prefill_sm90 h=16,d=128,dtype=bf16 at ");
                                    }),
              1);
    EXPECT_THAT(chart.notes.front(),
                testing::MatchesRegex("[0-9]+ of [0-9]+ lines are drawn: the newest of a kernel "
                                      "and case, .* Left out: [0-9]+ at another commit .*, [0-9]+ "
                                      "of other cases, and all of .*wmma.* --all draws them "
                                      "too\\."));
    // All of them stand on panels in which each has a look of its own.
    const Chart all = sweep_chart(rows, "", Shown::all);
    EXPECT_THAT(all.notes, testing::Not(Contains(HasSubstr("--all"))));
    std::size_t lines = 0;
    std::set<std::string> panels;
    for (const Panel& panel : all.panels) {
        EXPECT_TRUE(panels.insert(panel.title).second) << panel.title;
        std::set<std::pair<Colour, Mark>> looks;
        for (const Series& series : panel.series) {
            if (!series.title.empty()) {
                EXPECT_TRUE(looks.insert({series.colour, series.mark}).second) << series.title;
            }
        }
        EXPECT_LE(looks.size(), 12U);
        lines += looks.size();
    }
    const std::string& note = chart.notes.front();
    EXPECT_EQ(std::to_string(lines),
              note.substr(note.find(" of ") + 4, note.find(" lines") - note.find(" of ") - 4));
    EXPECT_GT(lines, titles.size());
}

// Over a field that was asked for only its lines are drawn; others are named.
TEST_F(Charts, a_sweep_over_one_field_names_kernels_that_have_lines_over_others) {
    const TimedRows rows =
        read_timed_rows({training_file, receipt("h200/2026-11-23-compare-decode_sm90-"
                                                "b29739d91fca.jsonl.gz")});
    const Chart asked = sweep_chart(rows, "length-of-same-tokens");
    EXPECT_EQ(asked.panels.size(), 1U);
    EXPECT_THAT(asked.notes, Contains("Kernels of the API with lines over another field alone: "
                                      "decode_sm90 (--over seqlen_k)."));
    const Chart both = sweep_chart(rows, "");
    ASSERT_EQ(both.panels.size(), 2U);
    EXPECT_EQ(both.title, "Time over one field on h200");
    EXPECT_THAT(both.panels[1].title, HasSubstr("decode_sm90 over seqlen_k"));
}

// Operations beside attention have sizes of their own, and no length that could be asked for.
TEST_F(Charts, a_sweep_of_operations_runs_over_their_own_sizes_or_names_them) {
    const auto operations = [](const std::string& seed) {
        return receipt("h200/2026-11-28-operations-" + seed + "-35dcd76ecc7b.jsonl.gz");
    };
    const Chart one = sweep_chart(read_timed_rows({operations("903665518")}), "");
    const std::string why =
        "No three cases of these receipts differ in one of their fields alone: d, k, m, n, rows, "
        "step, tokens, vocab, width.";
    EXPECT_EQ(one.notes.front(), why);
    EXPECT_EQ(one.panels.at(0).missing, "Nothing to draw: " + why);
    EXPECT_EQ(one.title, "Time over a field");
    const TimedRows all = read_timed_rows(
        {operations("903665518"), operations("903665519"), operations("903665520")});
    const Chart drawn = sweep_chart(all, "");
    EXPECT_EQ(drawn.title, "Time over rows on h200");
    EXPECT_TRUE(drawn.panels.at(0).missing.empty());
    EXPECT_THAT(
        sweep_chart(all, "length").panels.at(0).missing,
        testing::MatchesRegex("Nothing to draw: No three cases of these receipts differ in length "
                              "alone, but some do in [a-z, ]*rows[a-z, ]*\\. --over [a-z]+ "
                              "draws these\\."));
}

// Another program, or another way to run one, is another line, in whatever order files are named.
TEST_F(Charts, sweep_keeps_commits_and_ways_of_running_apart) {
    const std::vector<Json> first = read_timed_rows({training_file}).rows;
    const std::vector<Json> later = test::at_commit(first, 'f');
    const std::vector<Json> warm = test::other_rows(first, "w", [](Json& row) {
        if (row.contains("case")) {
            row["case"]["cold"] = false;
        }
    });
    const auto titles = [](const Chart& chart) {
        std::set<std::string> all;
        for (const Series& series : chart.panels.at(0).series) {
            all.insert(series.title);
        }
        return all;
    };
    const std::string name = "prefill_sm90 h=32,d=64";
    const Chart commits = sweep_chart(timed_rows_of(test::joined(first, later)), "");
    EXPECT_THAT(titles(commits),
                testing::IsSupersetOf({name + " at 4b2ec027", name + " at ffffffff"}));
    EXPECT_EQ(titles(commits), titles(sweep_chart(timed_rows_of(test::joined(later, first)), "")));
    EXPECT_THAT(titles(sweep_chart(timed_rows_of(test::joined(first, warm)), "")),
                testing::IsSupersetOf(
                    {name + ", cold, graph, sustained", name + ", warm, graph, sustained"}));
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
    EXPECT_EQ(series_called(chart.panels.at(0), "fa2").points.size(), 36U);
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

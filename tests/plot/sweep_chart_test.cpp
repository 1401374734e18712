// SPDX-License-Identifier: Apache-2.0
// Lines of sweeps: which are drawn, over which field, and how they look.
#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/other_rows.hpp"
#include "plot/peer_looks.hpp"
#include "plot/sweep_lines.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using test::receipt;
using test::series_called;
using test::training_file;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

class SweepChart : public test::WrittenRuns {};

TEST_F(SweepChart, lines_of_a_sweep_differ_in_dashes_and_marks_where_colours_return) {
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

TEST_F(SweepChart, sweep_finds_the_field_and_follows_changes_of_the_tile) {
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
TEST_F(SweepChart, a_sweep_of_a_whole_device_begins_with_every_kernel_of_the_api) {
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
TEST_F(SweepChart, a_sweep_over_one_field_names_kernels_that_have_lines_over_others) {
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
// As a shape has it: k=8192. Of products k is a size of their own.
TEST_F(SweepChart, a_sweep_of_attention_runs_over_fields_by_their_short_names) {
    const TimedRows rows = read_timed_rows({training_file});
    EXPECT_EQ(field_of(rows, "b"), "batch");
    EXPECT_EQ(field_of(rows, "q"), "seqlen_q");
    EXPECT_EQ(field_of(rows, "K"), "seqlen_k");
    const TimedRows products =
        read_timed_rows({receipt("h200/2026-11-28-operations-903665518-35dcd76ecc7b.jsonl.gz")});
    EXPECT_EQ(field_of(products, "k"), "k");
    EXPECT_THROW(field_of(rows, "colour"), Error);
}

TEST_F(SweepChart, a_sweep_of_operations_runs_over_their_own_sizes_or_names_them) {
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
TEST_F(SweepChart, sweep_keeps_commits_and_ways_of_running_apart) {
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

}  // namespace
}  // namespace raceline

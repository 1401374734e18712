// SPDX-License-Identifier: Apache-2.0
// Marks in a terminal: each in its row, and each look a letter that the legend explains.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "plot/charts.hpp"
#include "plot/gnuplot.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/placement.hpp"
#include "plot/script_titles.hpp"
#include "plot/terminal_marks.hpp"

namespace raceline {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr TerminalSize size{.columns = 120, .rows = 40};

std::string receipt(const std::string& name) {
    return std::string(RACELINE_SOURCE_DIR) + "/receipts/" + name;
}

class TerminalPicture : public testing::Test {
    void SetUp() override {
        if (!gnuplot_is_there()) {
            GTEST_SKIP() << "no gnuplot in PATH";
        }
    }

protected:
    static std::vector<std::string> drawn(const Chart& chart, TerminalSize in = size) {
        std::istringstream text(drawn_by_gnuplot(gnuplot_script(chart, PictureForm::terminal, in)));
        std::vector<std::string> lines;
        for (std::string line; std::getline(text, line);) {
            lines.push_back(line);
        }
        return lines;
    }
};

TEST_F(TerminalPicture, every_mark_of_a_comparison_stands_in_the_row_of_its_shape) {
    const Chart chart =
        compare_chart(read_timed_rows({receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz")}));
    const Panel& panel = chart.panels.at(0);
    const TerminalLayout layout = terminal_layout(panel, size);
    const std::vector<std::string> lines = drawn(chart);
    std::vector<const Series*> peers;
    for (const Series& series : panel.series) {
        if (series.mark != Mark::none) {
            peers.push_back(&series);
        }
    }
    ASSERT_EQ(peers.size(), 5U);
    const int last = layout.size.columns - 1 - layout.right;
    std::size_t marks = 0;
    std::size_t hidden = 0;
    for (const auto& [y, name] : panel.y.ticks) {
        const auto line = std::ranges::find_if(lines, [&](const std::string& one) {
            return one.find(" " + name + " |") < one.size();
        });
        ASSERT_NE(line, lines.end()) << name;
        for (std::size_t i = 0; i < peers.size(); ++i) {
            const auto point = std::ranges::find_if(
                peers[i]->points, [&](const ChartPoint& p) { return std::abs(p.y - y) < 0.5; });
            const auto column = layout.left + share_of(panel.x, point->x) * (last - layout.left);
            const auto letter = static_cast<char>('A' + i);
            const std::size_t found = line->find(letter, static_cast<std::size_t>(layout.left));
            if (found == std::string::npos) {  // under the mark of another peer
                const auto near = line->substr(static_cast<std::size_t>(column) - 1, 4);
                EXPECT_NE(near.find_first_of("ABCDE"), std::string::npos) << *line << letter;
                ++hidden;
                continue;
            }
            EXPECT_NEAR(static_cast<double>(found), column, 1.01) << *line << " " << letter;
            EXPECT_EQ(line->find(letter, found + 1), std::string::npos) << *line;
            ++marks;
        }
    }
    EXPECT_EQ(marks + hidden, 180U);
    EXPECT_GT(marks, 120U);
    const std::string said = std::to_string(hidden) + " of 180 marks stand under another: ";
    EXPECT_THAT(lines, Contains(StartsWith(said)));
}

// Intervals of other libraries are neither above marks nor of signs that nothing explains.
TEST_F(TerminalPicture, every_sign_of_a_comparison_is_explained) {
    const std::vector<std::string> lines = drawn(
        compare_chart(read_timed_rows({receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz")})));
    EXPECT_THAT(lines.at(1), HasSubstr("The signs - and + are bars, and the line of | is 1."));
    std::size_t rows = 0;
    for (const std::string& line : lines) {
        const std::size_t axis = line.find(" |");
        if (axis == std::string::npos || line.find("dtype=") > axis) {
            continue;
        }
        EXPECT_EQ(line.find_first_not_of("ABCDE|+- ", axis), std::string::npos) << line;
        EXPECT_NE(line.find('B', axis), std::string::npos) << line;
        ++rows;
    }
    EXPECT_EQ(rows, 36U);
    EXPECT_THAT(
        lines,
        Contains(HasSubstr(" A  cuDNN              B  FlashAttention-2   C  FlashAttention-3 ")));
}

// Names of ratios stand apart, and 1 is among them, however few cells the axis has.
TEST_F(TerminalPicture, names_of_ratios_do_not_run_into_each_other) {
    std::size_t names = 0;
    for (const char* file : {"cpu/2026-11-21-torch-d1ca717f26ff.jsonl.gz",
                             "h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz",
                             "h200/2026-11-23-compare-e4m3-4b2ec0278ce6.jsonl.gz"}) {
        const Chart chart = compare_chart(read_timed_rows({receipt(file)}));
        for (const int columns : {60, 80, 100, 160}) {
            const std::vector<std::string> lines = drawn(chart, {.columns = columns, .rows = 24});
            std::size_t axes = 0;
            for (std::size_t i = 1; i < lines.size(); ++i) {
                if (lines[i - 1].find("+-----") == std::string::npos ||
                    lines[i].find("×") == std::string::npos) {
                    continue;
                }
                std::istringstream words(lines[i]);
                std::vector<std::string> all;
                for (std::string word; words >> word;) {
                    EXPECT_THAT(word, testing::MatchesRegex("[0-9]+(\\.[0-9]+)?×"))
                        << lines[i] << " of " << file << " in " << columns;
                    all.push_back(word);
                }
                EXPECT_THAT(all, Contains("1×")) << lines[i];
                EXPECT_GE(all.size(), 2U) << lines[i];
                names += all.size();
                ++axes;
            }
            EXPECT_EQ(axes, chart.panels.size()) << file << " in " << columns;
        }
    }
    EXPECT_GT(names, 40U);
}

// What stands below a drawing, or in its place, is as wide as the drawing.
TEST_F(TerminalPicture, sentences_are_as_wide_as_the_terminal) {
    const std::vector<Chart> charts{
        sweep_chart(read_timed_rows({receipt(
                        "h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz")}),
                    ""),
        compare_chart(read_timed_rows({receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz")})),
        sweep_chart(timed_rows_of({}), "")};
    std::size_t sentences = 0;
    for (const Chart& chart : charts) {
        // Their axes have room in this width, so that no line needs more.
        constexpr TerminalSize narrow{.columns = 90, .rows = 24};
        for (const std::string& line : drawn(chart, narrow)) {
            const std::string words = line.substr(0, line.find_last_not_of(' ') + 1);
            EXPECT_LE(letters(words), 90U) << line;
            sentences += line.find("under") < line.size() || line.find("Nothing to draw") == 0;
        }
    }
    EXPECT_GT(sentences, 3U);
}

// Long names of shapes and of roofs leave their places where a terminal is narrow.
TEST_F(TerminalPicture, no_line_is_wider_than_the_terminal) {
    const std::string training = "-training-16k-4b2ec0278ce6.jsonl.gz";
    const TimedRows ladder =
        read_timed_rows({receipt("h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz")});
    const TimedRows compared =
        read_timed_rows({receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz")});
    const std::vector<Chart> charts{
        compare_chart(compared), roofline_chart(compared),
        roofline_chart(read_timed_rows({receipt("h200/2026-11-23-prefill_mma" + training),
                                        receipt("h200/2026-11-23-prefill_sm90" + training),
                                        receipt("h200/2026-11-23-prefill_sm90_fp8" + training)})),
        trajectory_chart(ladder, "decode", ""), ladder_chart(ladder, "decode", "")};
    std::size_t lines = 0;
    for (const int columns : {40, 60, 80, 100}) {
        for (const Chart& chart : charts) {
            for (const std::string& line : drawn(chart, {.columns = columns, .rows = 24})) {
                const std::string words = line.substr(0, line.find_last_not_of(" \f") + 1);
                EXPECT_LE(letters(words), static_cast<std::size_t>(columns)) << line;
                ++lines;
            }
        }
    }
    EXPECT_GT(lines, 500U);
}

// Where names have no room beside the axes, each stands above the row of its marks.
TEST_F(TerminalPicture, marks_of_a_narrow_comparison_stand_below_the_names_of_their_shapes) {
    const Chart chart =
        compare_chart(read_timed_rows({receipt("h200/2026-11-23-compare-4b2ec0278ce6.jsonl.gz")}));
    for (const int columns : {25, 60}) {
        const std::vector<std::string> lines = drawn(chart, {.columns = columns, .rows = 24});
        std::size_t rows = 0;
        for (const auto& [y, name] : chart.panels.at(0).y.ticks) {
            const std::string end = name.substr(name.find(",d="));  // of a name in two lines, too
            std::size_t at = 0;
            while (at < lines.size() && !(lines[at].starts_with(name) ||
                                          (columns < 60 && lines[at].starts_with(end.substr(1)) &&
                                           name.starts_with(lines[at - 1].substr(0, 12))))) {
                ++at;
            }
            ASSERT_LT(at + 1, lines.size()) << name << " in " << columns;
            EXPECT_NE(lines[at + 1].find('B'), std::string::npos) << lines[at + 1];
            EXPECT_EQ(lines[at + 1].find_first_not_of(" ABCDE|+-"), std::string::npos)
                << lines[at + 1];
            ++rows;
        }
        EXPECT_EQ(rows, 36U);
    }
}

TEST_F(TerminalPicture, kernels_of_a_roofline_are_letters_that_the_legend_has) {
    const std::string training = "-training-16k-4b2ec0278ce6.jsonl.gz";
    const Chart chart =
        roofline_chart(read_timed_rows({receipt("h200/2026-11-23-prefill_mma" + training),
                                        receipt("h200/2026-11-23-prefill_sm90" + training),
                                        receipt("h200/2026-11-23-prefill_sm90_fp8" + training)}));
    // In a picture their forms differ too: not everybody sees colours.
    std::set<Mark> forms;
    for (const Series& series : chart.panels.at(0).series) {
        if (series.title.starts_with("prefill_")) {
            forms.insert(series.mark);
        }
    }
    EXPECT_EQ(forms.size(), 3U);
    const std::vector<std::string> lines = drawn(chart);
    std::string all;
    for (const std::string& line : lines) {
        all += line + "\n";
    }
    EXPECT_THAT(all, HasSubstr("Small letters are hollow marks, capitals filled ones."));
    for (const char* legend : {" A  prefill_mma", " B  prefill_sm90", " C  prefill_sm90_fp8"}) {
        EXPECT_THAT(all, HasSubstr(legend));
    }
    // Each is on the axes, above the line of these.
    const std::string axes = all.substr(all.find('|'), all.find("+-----") - all.find('|'));
    const auto count_alone = [&](char letter) {
        std::size_t count = 0;
        for (std::size_t i = 1; i + 1 < axes.size(); ++i) {
            const std::string_view beside(axes.data() + i - 1, 3);
            count +=
                axes[i] == letter && std::isalnum(beside[0]) == 0 && std::isalnum(beside[2]) == 0;
        }
        return count;
    };
    for (const char letter : {'A', 'B', 'C'}) {
        EXPECT_GT(count_alone(letter), 1U) << letter;
    }
    // Of predictions most stand under what was measured.
    EXPECT_GT(count_alone('a') + count_alone('b') + count_alone('c'), 0U);
}

// One cell shows one letter: of a line that lies under another no mark is to be seen.
TEST_F(TerminalPicture, a_sweep_has_a_letter_for_each_line_or_says_what_hides_it) {
    const Chart chart = sweep_chart(
        read_timed_rows(
            {receipt("h200/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz")}),
        "");
    std::string all;
    for (const std::string& line : drawn(chart)) {
        all += line + "\n";
    }
    const std::string axes = all.substr(all.find('|'), all.find("+-----") - all.find('|'));
    // Letters alone: those of gnuplot's lines repeat.
    EXPECT_EQ(axes.find_first_of("*#$%@&="), std::string::npos) << axes;
    const std::size_t said = all.find("Marks that none is seen of: ");
    ASSERT_LT(said, all.size()) << all;
    const std::string hidden = all.substr(said);  // to the end: it may have several lines
    std::size_t under = 0;
    for (const char letter : {'A', 'B', 'C', 'D', 'E', 'F'}) {
        const bool seen = axes.find(letter) != std::string::npos;
        const bool named = hidden.find(std::string(1, letter) + " under ") != std::string::npos;
        EXPECT_NE(seen, named) << letter << " " << all;
        under += named ? 1 : 0;
    }
    EXPECT_GT(under, 0U);
    EXPECT_THAT(all, HasSubstr("Small letters are predictions."));
}

TEST_F(TerminalPicture, a_title_stands_above_that_of_the_y_axis) {
    Scorecard card;
    card.add_tree(std::string(RACELINE_SOURCE_DIR) + "/receipts");
    const Chart chart = scorecard_chart(card);
    std::istringstream text(drawn_by_gnuplot(
        gnuplot_script(chart, PictureForm::terminal, {.columns = 60, .rows = 30})));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line);
    }
    const auto has = [&](const std::string& words) {
        return std::ranges::any_of(
            lines, [&](const std::string& line) { return line.find(words) < line.size(); });
    };
    EXPECT_TRUE(has(chart.panels.at(0).title)) << chart.panels[0].title;
    EXPECT_TRUE(has(chart.panels.at(1).title)) << chart.panels[1].title;
    EXPECT_EQ(
        std::ranges::count_if(
            lines, [](const std::string& line) { return line.find(" predicted ") < line.size(); }),
        2);
}

// Titles of the legend, names of ticks and texts: what a terminal has no room for is lost unseen.
TEST_F(TerminalPicture, shows_all_words) {
    const std::string folder = std::string(RACELINE_SOURCE_DIR) + "/receipts/";
    const std::string h200 = folder + "h200/2026-11-2";
    const TimedRows ladder = read_timed_rows({h200 + "1-ladder-12c3875edbd2.jsonl.gz"});
    std::vector<Chart> charts;
    charts.push_back(compare_chart(read_timed_rows({h200 + "3-compare-4b2ec0278ce6.jsonl.gz"})));
    for (const char* track : {"prefill", "decode"}) {
        charts.push_back(trajectory_chart(ladder, track, ""));
        charts.push_back(ladder_chart(ladder, track, ""));
    }
    charts.push_back(roofline_chart(
        read_timed_rows({folder + "cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz",
                         folder + "cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz"})));
    charts.push_back(roofline_chart(
        read_timed_rows({h200 + "3-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz"})));
    // Entries of legends that are longer than a line.
    charts.push_back(roofline_chart(read_timed_rows(
        {folder + "h100-sxm/2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz"})));
    charts.push_back(sweep_chart(
        read_timed_rows({h200 + "3-prefill_sm90_fp8-lengths-4b2ec0278ce6.jsonl.gz"}), ""));
    std::size_t words = 0;
    for (const TerminalSize terminal :
         {TerminalSize{.columns = 60, .rows = 24}, {80, 24}, {100, 32}, {160, 50}}) {
        for (const Chart& chart : charts) {
            const std::string script = gnuplot_script(chart, PictureForm::terminal, terminal);
            const std::string text = drawn_by_gnuplot(script);
            const auto shows = [&](const std::string& word) {
                EXPECT_THAT(text, HasSubstr(word)) << chart.title << " in " << terminal.columns;
                ++words;
            };
            const Panel& panel = chart.panels.at(0);
            for (const std::string& title : test::titles_in(script)) {
                shows(title);
            }
            // That of marks alone stands behind their letter.
            Letters all;
            const std::size_t most = terminal_layout(panel, terminal).legend.most;
            for (const Series& series : panel.series) {
                if (!is_drawn(series) || series.mark == Mark::none) {
                    continue;
                }
                const std::string sample = std::string(1, all.of(series)) + "  ";
                if (series.line == Line::none && !series.title.empty()) {
                    shows(sample + legend_lines(series.title, most).at(0));
                }
            }
            for (const ChartText& one : panel.texts) {
                shows(one.text);
            }
            for (const Axis* axis : {&panel.x, &panel.y}) {
                shows(axis->title);
                for (const auto& [at, name] : axis->ticks) {
                    shows(name);
                }
            }
        }
    }
    EXPECT_GT(words, 400U);
}

// Words of a roofline cover no mark: they stand beside it, in the legend or in a sentence below.
TEST_F(TerminalPicture, words_of_a_roofline_cover_no_mark) {
    const std::string h200 = "h200/2026-11-2";
    const std::string training = "-training-16k-4b2ec0278ce6.jsonl.gz";
    const std::vector<Chart> charts{
        roofline_chart(read_timed_rows({receipt(h200 + "3-prefill_mma" + training),
                                        receipt(h200 + "3-prefill_sm90" + training),
                                        receipt(h200 + "3-prefill_sm90_fp8" + training)})),
        roofline_chart(read_timed_rows({receipt(h200 + "3-prefill_sm90" + training)})),
        roofline_chart(read_timed_rows({receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz"),
                                        receipt("cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz")})),
        roofline_chart(
            read_timed_rows({receipt(h200 + "8-random-3701766645-dca479f5bbed.jsonl.gz")}))};
    std::size_t within = 0;
    for (const Chart& chart : charts) {
        for (const TerminalSize terminal :
             {TerminalSize{.columns = 60, .rows = 24}, {80, 24}, {100, 32}, {160, 50}}) {
            const std::string text =
                drawn_by_gnuplot(gnuplot_script(chart, PictureForm::terminal, terminal));
            for (const Panel& panel : chart.panels) {
                const TerminalLayout layout = terminal_layout(panel, terminal);
                std::set<TerminalCell> marks;
                for (const Series& series : panel.series) {
                    if (is_marked(series)) {
                        const auto cells = terminal_cells(panel, terminal, series);
                        marks.insert(cells.begin(), cells.end());
                    }
                }
                for (const CellText& word : layout.words) {
                    for (int i = 0; i < static_cast<int>(letters(word.text)); ++i) {
                        EXPECT_FALSE(marks.contains({word.column + i, word.row}))
                            << word.text << " in " << chart.title << ", " << terminal.columns;
                    }
                    within += word.row > layout.bottom ? 1 : 0;
                }
                // No text is lost.
                for (const ChartText& one : panel.texts) {
                    EXPECT_THAT(text, HasSubstr(one.text)) << terminal.columns;
                }
            }
        }
    }
    EXPECT_GT(within, 50U);
}

// Where marks stand everywhere a sentence below has the words.
TEST_F(TerminalPicture, words_without_room_stand_in_a_sentence) {
    Chart chart{.title = "full", .panels = {{}}};
    Panel& panel = chart.panels.front();
    Series marks{.title = "marks; 2.00× left", .mark = Mark::circle, .points = {}};
    for (int x = 0; x <= 200; ++x) {
        for (int y = 0; y <= 200; ++y) {
            marks.points.push_back({x / 200.0, y / 200.0});
        }
    }
    panel.series = {marks};
    panel.texts = {{.x = 0.5, .y = 0.5, .text = "DRAM 1 TB/s", .towards = {{1.0, 1.0}}},
                   {.x = 0.5, .y = 0.5, .text = "2.00×", .align = Align::centre}};
    std::string all;
    for (const std::string& line : drawn(chart)) {
        all += line + "\n";
    }
    EXPECT_THAT(all, HasSubstr("\nWords that have no room in the drawing: DRAM 1 TB/s.\n"));
}

}  // namespace
}  // namespace raceline

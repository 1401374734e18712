// SPDX-License-Identifier: Apache-2.0
// Where names of roofs and speed-ups stand on a roofline.
#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "plot/charts.hpp"
#include "plot/drawn_receipts.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/placement.hpp"
#include "plot/roof_lines.hpp"
#include "plot/terminal_layout.hpp"
#include "receipt/stored_text.hpp"
#include "report/written_runs.hpp"

namespace raceline {
namespace {

using test::receipt;
using test::training_file;
using testing::HasSubstr;

class RooflineWords : public test::WrittenRuns {};

// Of one panel, of many, of several devices; a receipt at a time and all together.
TEST_F(RooflineWords, no_words_stand_on_others_or_leave_their_diagonal) {
    std::vector<std::vector<std::string>> pictures{{}};
    for (const std::string& file : stored_receipts(receipt(""))) {
        pictures.push_back({file});
        pictures.front().push_back(file);
    }
    pictures.push_back({receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz"), training_file});
    std::size_t words = 0;
    for (const std::vector<std::string>& files : pictures) {
        const Chart chart = roofline_chart(read_timed_rows(files));
        for (std::size_t i = 0; i < chart.panels.size(); ++i) {
            const Panel& panel = chart.panels[i];
            const Place place = place_of(chart, i);
            for (std::size_t a = 0; a < panel.texts.size(); ++a) {
                const Box box = box_of(panel, place, panel.texts[a]);
                // Names right of the axes may touch: their lines are as high as they are.
                const bool beside = panel.texts[a].x > panel.x.high;
                for (std::size_t b = a + 1; b < panel.texts.size(); ++b) {
                    EXPECT_FALSE(!beside && overlap(box, box_of(panel, place, panel.texts[b])))
                        << files.front() << " " << panel.title << ": " << panel.texts[a].text
                        << " and " << panel.texts[b].text;
                }
                for (const auto& [x, y] : box) {
                    EXPECT_LE(y, place.height + 0.51 * line_height)
                        << files.front() << " " << panel.title << ": " << panel.texts[a].text;
                    EXPECT_GT(x, 0) << files.front() << " " << panel.texts[a].text;
                    // Names of engines stand right of the axes, all else between their ends.
                    EXPECT_TRUE(beside || x < place.width)
                        << files.front() << " " << panel.title << ": " << panel.texts[a].text;
                }
                ++words;
            }
        }
    }
    EXPECT_GT(words, 400U);
}

// Where engines lie close to each other, a name stands beside the roof of another: a line says
// whose it is. No name is farther from its roof than the names of its neighbours make it.
TEST_F(RooflineWords, a_line_leads_from_each_engine_s_roof_to_its_name) {
    const Chart chart = roofline_chart(read_timed_rows({training_file}));
    const Panel& panel = chart.panels.at(0);
    const Place place = place_of(chart, 0);
    const std::string script = gnuplot_script(chart, PictureForm::svg);
    std::vector<double> shifts;  // in lines
    std::vector<double> heights;
    for (const ChartText& text : panel.texts) {
        if (text.x > panel.x.high) {
            ASSERT_TRUE(text.led_from) << text.text;
            const auto at = [&](double y) { return share_of(panel.y, y) / line_share(place); };
            shifts.push_back(at(text.y) - at(text.led_from->second));
            heights.push_back(at(text.y));
            EXPECT_THAT(script,
                        HasSubstr(fmt::format("set arrow from first {:.10g},{:.10g} to first ",
                                              panel.x.high, text.led_from->second)));
        }
    }
    ASSERT_EQ(heights.size(), 7U);
    for (std::size_t i = 1; i < heights.size(); ++i) {
        EXPECT_GT(heights[i] - heights[i - 1], 0.99);
    }
    EXPECT_NEAR(shifts.front(), 0, 1e-6) << "fma.fp32 has no neighbour";
    const auto [down, up] = std::ranges::minmax(shifts);
    EXPECT_LT(down, -0.5);
    EXPECT_GT(up, 0.5) << "a block of names has its middle at that of its roofs";
}

TEST_F(RooflineWords, in_a_terminal_arrows_lead_from_names_to_roofs) {
    const Chart chart = roofline_chart(read_timed_rows({training_file}));
    const TerminalSize size{100, 20};
    const TerminalLayout layout = terminal_layout(chart.panels.at(0), size);
    std::map<std::string, std::string> arrows;
    for (const ChartText& text : chart.panels.at(0).texts) {
        if (text.x <= chart.panels.at(0).x.high) {
            continue;
        }
        const auto word = std::ranges::find_if(
            layout.words, [&](const CellText& one) { return one.text.ends_with(text.text); });
        ASSERT_NE(word, layout.words.end()) << text.text;
        Series roof{.title = {}, .colour = Colour::grey, .points = {{1, text.led_from->second}}};
        const int own = terminal_cells(chart.panels.at(0), size, roof).at(0).second;
        const std::string arrow = word->row == own ? "  " : word->row < own ? "↑ " : "↓ ";
        EXPECT_EQ(word->text, arrow + text.text);
        arrows[arrow] += text.text;
    }
    EXPECT_EQ(arrows.size(), 3U) << "too much room to try all";
}

// Of two devices roofs lie close to each other: what stands on one is no more to be read.
TEST_F(RooflineWords, speed_ups_stand_beside_roofs_and_bars) {
    const Chart chart = roofline_chart(read_timed_rows(
        {receipt("h100-sxm/2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz"),
         training_file}));
    const Panel& panel = chart.panels.at(0);
    const Place place = place_of(chart, 0);
    std::vector<Box> lines = boxes_of_roofs(panel, place);
    EXPECT_GT(lines.size(), 6U);
    for (const Series& series : panel.series) {
        if (series.width == 3) {
            lines.push_back(box_of_line(panel, place, series));
        }
    }
    std::size_t words = 0;
    for (const ChartText& text : panel.texts) {
        if (text.text.ends_with("×") || text.text.ends_with("× (datasheet)")) {
            ++words;
            const Box box = box_of(panel, place, text);
            EXPECT_TRUE(std::ranges::none_of(lines, [&](const Box& line) {
                return overlap(box, line);
            })) << text.text;
        }
    }
    EXPECT_EQ(words, 2U);
}

// Nor does a roof of another device strike the name of one through.
TEST_F(RooflineWords, names_of_memory_stand_off_all_roofs) {
    const std::string h200 = "h200/2026-11-23-prefill_sm90-training-16k-";
    const std::vector<std::vector<std::string>> pictures{
        {receipt("h100-sxm/2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz"),
         receipt(h200 + "2928e4d6c6d4.jsonl.gz"), training_file},
        {receipt("cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz"),
         receipt("cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz")}};
    for (const std::vector<std::string>& files : pictures) {
        const Chart chart = roofline_chart(read_timed_rows(files));
        const Panel& panel = chart.panels.at(0);
        const Place place = place_of(chart, 0);
        const std::vector<Box> roofs = boxes_of_roofs(panel, place);
        std::size_t names = 0;
        for (const ChartText& text : panel.texts) {
            if (text.towards) {
                ++names;
                const Box box = box_of(panel, place, text);
                EXPECT_TRUE(std::ranges::none_of(roofs, [&](const Box& roof) {
                    return overlap(box, roof);
                })) << text.text;
            }
        }
        EXPECT_GT(names, 3U);
    }
}

}  // namespace
}  // namespace raceline

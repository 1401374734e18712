// SPDX-License-Identifier: Apache-2.0
// Scripts as text, and what gnuplot makes of them where it is installed.
#include "plot/gnuplot.hpp"

#include <array>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <span>
#include <stdlib.h>
#include <string>
#include <vector>

#include "plot/charts.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/placement.hpp"
#include "plot/script_titles.hpp"
#include "report/receipt_diff.hpp"
#include "report/scorecard.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Chart two_series() {
    Chart chart{.title = "A title", .notes = {"A remark"}, .panels = {}};
    Panel panel;
    panel.x = {.title = "length", .logarithmic = true, .low = 1, .high = 1000, .ticks = {}};
    panel.y = {.title = "time", .scale = Scale::seconds, .low = 0, .high = 1e-3, .ticks = {}};
    panel.series = {{.title = "measured",
                     .colour = Colour::blue,
                     .mark = Mark::circle,
                     .bars = Bars::along_y,
                     .points = {{10, 1e-4, 0.9e-4, 1.1e-4}, {100, 5e-4, 4e-4, 6e-4}}},
                    {.title = "predicted",
                     .colour = Colour::vermillion,
                     .mark = Mark::circle,
                     .filled = false,
                     .points = {{10, 2e-4}, {100, 4e-4}, {200, 8e-4}}}};
    panel.texts.push_back({.x = 20, .y = 3e-4, .text = "left to <DRAM>"});
    chart.panels.push_back(panel);
    return chart;
}

// Marks hide a dotted line, and letters of lines are those of others: gaps have neither fault.
TEST(GnuplotScript, lines_over_marks_stand_on_white_or_are_colons) {
    Chart chart = two_series();
    chart.panels[0].series.push_back({.title = "2.00× left to dram",
                                      .line = Line::dotted,
                                      .width = 2,
                                      .over_marks = true,
                                      .points = {{10, 2e-4}, {10, 4e-4}}});
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg),
                HasSubstr("$p0s2 with lines lc rgb '#ffffff' lw 2 notitle"));
    const std::string terminal = gnuplot_script(chart, PictureForm::terminal);
    EXPECT_THAT(terminal, HasSubstr("$p0s2 with points pt ':' title '2.00× left to dram'"));
    // A cell holds one sign: letters come last, so that no mark is lost under colons.
    EXPECT_LT(terminal.rfind("$p0s2 with points pt ':'"), terminal.rfind("$p0s1 with points"));
    EXPECT_THAT(terminal.substr(terminal.rfind("$p0s1 with points")), HasSubstr("notitle"));
    const std::size_t begin = terminal.find("$p0s2 << END");
    const std::size_t end = terminal.find("END\n", terminal.find('\n', begin));
    EXPECT_GT(std::count(terminal.begin() + static_cast<std::ptrdiff_t>(begin),
                         terminal.begin() + static_cast<std::ptrdiff_t>(end), '\n'),
              40);
}

TEST(GnuplotScript, words_that_had_to_leave_their_place_are_led_back_to_it) {
    Chart chart = two_series();
    give_axes_room(chart, 600, 360);
    const double far = chart.panels[0].y.high * 0.9;
    chart.panels[0].texts = {{.x = 20, .y = far, .text = "2×", .led_from = std::pair(20.0, 2e-4)}};
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg),
                HasSubstr("set arrow from first 20,0.0002 to first 20,"));
    chart.panels[0].texts[0].y = 2.1e-4;
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg), testing::Not(HasSubstr("set arrow from")));
}

TEST(GnuplotScript, a_title_wider_than_a_terminal_is_printed_whole) {
    Chart chart = two_series();
    chart.panels[0].title = std::string(70, 'w') + " end";
    const std::string script = gnuplot_script(chart, PictureForm::terminal, {80, 24});
    EXPECT_THAT(script, HasSubstr("set title ''"));
    EXPECT_THAT(script, HasSubstr("print '" + std::string(70, 'w')));
    chart.panels[0].title = "short";
    EXPECT_THAT(gnuplot_script(chart, PictureForm::terminal, {80, 24}),
                HasSubstr("set title 'short'"));
}

// A step between ticks of a logarithmic axis is a factor: below 1 there would be none.
TEST(GnuplotScript, a_narrow_logarithmic_axis_has_ticks) {
    Chart chart = two_series();
    chart.panels[0].x.low = 0.81;
    chart.panels[0].x.high = 1.02;
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg),
                HasSubstr("set xtics (0.85, 0.9, 0.95, 1)"));
    // Round numbers, of which one is 1, which both sides of a comparison share.
    chart.panels[0].x.low = 0.985;
    chart.panels[0].x.high = 1.038;
    EXPECT_THAT(gnuplot_script(chart, PictureForm::svg),
                HasSubstr("set xtics (0.99, 1, 1.01, 1.02, 1.03)"));
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++count;
    }
    return count;
}

TEST(GnuplotScript, holds_points_intervals_and_looks) {
    const std::string script = gnuplot_script(two_series(), PictureForm::svg);
    EXPECT_THAT(script,
                HasSubstr("$p0s0 << END\n10 0.0001 9e-05 0.00011\n100 0.0005 0.0004 0.0006\nEND"));
    EXPECT_THAT(script, HasSubstr("with yerrorbars lc rgb '#0072B2'"));
    EXPECT_THAT(script, HasSubstr("pt 7"));  // filled circle
    EXPECT_THAT(script, HasSubstr("pt 6"));  // hollow circle
    EXPECT_THAT(script, HasSubstr("set logscale x"));
    EXPECT_THAT(script, HasSubstr("unset logscale y"));
}

double luminance(const std::string& code) {
    double sum = 0;
    constexpr std::array shares{0.2126, 0.7152, 0.0722};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const double part = std::stoi(code.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
        sum += shares[i] * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

TEST(GnuplotScript, every_colour_stands_out_on_white) {
    std::vector<Colour> colours{Colour::grey};
    for (std::size_t i = 0; i < 7; ++i) {
        colours.push_back(nth_colour(i));
    }
    std::set<std::string> codes;
    for (const Colour colour : colours) {
        Chart chart = two_series();
        chart.panels[0].series[0].colour = colour;
        const std::string script = gnuplot_script(chart, PictureForm::svg);
        const std::string before = "with yerrorbars lc rgb '";
        const std::string code = script.substr(script.find(before) + before.size(), 7);
        EXPECT_TRUE(codes.insert(code).second) << code;
        EXPECT_GE(1.05 / (luminance(code) + 0.05), 3) << code;
    }
}

// Rows of panels: none reaches into another's, nor does its legend.
TEST(GnuplotScript, rows_of_panels_leave_each_other_room) {
    Chart chart = two_series();
    for (int i = 0; i < 4; ++i) {
        chart.panels.push_back(chart.panels[0]);
        chart.panels[0].title = "first";
    }
    chart.columns = 2;
    chart.height = 1500;
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const Place place = place_of(chart, i);
        EXPECT_GT(place.height, 150) << i;
        EXPECT_GT(place.bottom, place.legend) << i;
        EXPECT_GT(place.legend, 0) << i;
        if (i + 2 < chart.panels.size()) {
            EXPECT_GT(place.legend, place_of(chart, i + 2).top + line_height / chart.height) << i;
        }
        EXPECT_EQ(place.left < 0.5, i % 2 == 0);
    }
}

// What is wider than a picture goes on in the next line, and the axes begin below all of them.
TEST(GnuplotScript, long_titles_and_notes_go_on_in_further_lines) {
    Chart chart = two_series();
    const double top = place_of(chart, 0).top;
    std::string words;
    for (int i = 0; i < 60; ++i) {
        words += (i == 0 ? "" : " ") + std::string("word") + std::to_string(i);
    }
    chart.title = words;
    chart.key = words;
    chart.notes = {words, "short"};
    const Heading heading = heading_of(chart);
    EXPECT_GE(heading.title_lines, 3U);
    EXPECT_GE(heading.lines.size(), 10U);
    std::string all;
    const std::string script = gnuplot_script(chart, PictureForm::svg);
    for (const std::string& line : heading.lines) {
        EXPECT_LE(static_cast<double>(letters(line)) * letter_width, chart.width - 20) << line;
        EXPECT_THAT(script, HasSubstr("'" + line + "' at screen 0.5"));
        all += (all.empty() ? "" : " ") + line;
    }
    EXPECT_EQ(all, words + " " + words + " " + words + " short");
    EXPECT_LT(place_of(chart, 0).top * chart.height, top * chart.height - 7 * line_height);
}

TEST(GnuplotScript, takes_no_word_of_a_receipt_for_a_command) {
    Chart chart = two_series();
    chart.panels[0].series[0].title = "it's `touch x`\nsystem('touch y') @z";
    const std::string script = gnuplot_script(chart, PictureForm::svg);
    // One line, in single quotes, of which its own are written twice.
    EXPECT_THAT(script, HasSubstr("title 'it''s `touch x`\\x0Asystem(''touch y'') @z'"));
}

TEST(GnuplotScript, legend_leaves_the_axes_room) {
    Chart chart = two_series();
    const auto bottom = [](const std::string& script) {
        const auto at = script.find("set bmargin at screen ");
        return std::stod(script.substr(at + 22));
    };
    const double few = bottom(gnuplot_script(chart, PictureForm::png));
    for (int i = 0; i < 40; ++i) {
        chart.panels[0].series.push_back(chart.panels[0].series[1]);
    }
    EXPECT_GT(bottom(gnuplot_script(chart, PictureForm::png)), few + 0.05);
}

TEST(GnuplotScript, knows_the_forms_by_the_ending) {
    EXPECT_EQ(picture_form("a.b/x.svg"), PictureForm::svg);
    EXPECT_EQ(picture_form("x.png"), PictureForm::png);
    EXPECT_EQ(picture_form("x.pdf"), PictureForm::pdf);
    EXPECT_THROW(static_cast<void>(picture_form("x.gif")), Error);
}

class Gnuplot : public testing::Test {
    void SetUp() override {
        if (!gnuplot_is_there()) {
            GTEST_SKIP() << "no gnuplot in PATH";
        }
    }
};

TEST_F(Gnuplot, svg_holds_every_point_and_label) {
    const std::string svg = drawn_by_gnuplot(gnuplot_script(two_series(), PictureForm::svg));
    EXPECT_THAT(svg, StartsWith("<?xml"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    // Each point once, and its series once more in the legend.
    EXPECT_EQ(count_of(svg, "color='rgb(  0, 114, 178)'/>"), 3U);
    EXPECT_EQ(count_of(svg, "color='rgb(213,  94,   0)'/>"), 4U);
    // The first one: a third of three decades right, a tenth of the height up.
    EXPECT_THAT(svg, HasSubstr("#gpPt6' transform='translate(366.65,508.85)"));
    for (const char* label : {"A title", "A remark", "measured", "predicted", "length", "time",
                              "left to &lt;DRAM>", "400 µs"}) {
        EXPECT_THAT(svg, HasSubstr(label));
    }
}

// gnuplot drops a whole legend whose longest entry does not fit, and cuts those of a terminal.
TEST_F(Gnuplot, legends_show_every_entry_however_long) {
    const std::string folder = std::string(RACELINE_SOURCE_DIR) + "/receipts/";
    const TimedRows datasheet = read_timed_rows(
        {folder + "h100-sxm/2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz"});
    Chart many = two_series();
    many.panels[0].series[0].title = std::string(60, 'w') + "," + std::string(70, 'w') + " end";
    for (int i = 0; i < 40; ++i) {
        many.panels[0].series.push_back(many.panels[0].series[1]);
        many.panels[0].series.back().title = "entry " + std::to_string(i);
    }
    give_axes_room(many, 600, 360);
    for (const Chart& chart : {roofline_chart(datasheet), many}) {
        const std::string script = gnuplot_script(chart, PictureForm::svg);
        const std::string svg = drawn_by_gnuplot(script);
        const std::vector<std::string> titles = test::titles_in(script);
        EXPECT_GT(titles.size(), 1U);
        for (const std::string& title : titles) {
            EXPECT_LE(letters(title), 108U);
            EXPECT_THAT(svg, HasSubstr(">" + title + "</text>"));
        }
    }
}

TEST_F(Gnuplot, draws_png_pdf_and_for_a_terminal) {
    EXPECT_THAT(drawn_by_gnuplot(gnuplot_script(two_series(), PictureForm::png)),
                StartsWith("\x89PNG"));
    EXPECT_THAT(drawn_by_gnuplot(gnuplot_script(two_series(), PictureForm::pdf)),
                StartsWith("%PDF"));
    const std::string text = drawn_by_gnuplot(
        gnuplot_script(two_series(), PictureForm::terminal, {.columns = 70, .rows = 20}));
    EXPECT_THAT(text, HasSubstr("A title"));
    EXPECT_THAT(text, HasSubstr("predicted"));
    EXPECT_LE(count_of(text, "\n"), 24U);
}

// Axes without anything on them would be taken for a result.
TEST_F(Gnuplot, a_chart_without_points_says_what_is_missing_and_has_no_axes) {
    const TimedRows none = timed_rows_of({});
    const Scorecard card(std::span<const build_info::EmbeddedSight>{});
    const std::vector<Chart> charts{roofline_chart(none),
                                    compare_chart(none),
                                    trajectory_chart(none, "prefill", ""),
                                    ladder_chart(none, "decode", ""),
                                    sweep_chart(none, ""),
                                    diff_chart(diff_of(none, none)),
                                    scorecard_chart(card)};
    for (const Chart& chart : charts) {
        const std::string svg = drawn_by_gnuplot(gnuplot_script(chart, PictureForm::svg));
        ASSERT_EQ(chart.panels.size(), 1U) << chart.title;
        EXPECT_GT(chart.panels[0].missing.size(), 30U) << chart.title;
        EXPECT_THAT(svg, HasSubstr(chart.panels[0].missing.substr(0, 30))) << chart.title;
        // The only lines are those of the frame, of which there is none.
        EXPECT_EQ(count_of(svg, "<path stroke='rgb( 85,  85,  85)'"), 0U) << chart.title;
        const std::string text = drawn_by_gnuplot(gnuplot_script(chart, PictureForm::terminal));
        EXPECT_THAT(text, HasSubstr(chart.panels[0].missing.substr(0, 30))) << chart.title;
        EXPECT_THAT(text, Not(HasSubstr("+----"))) << chart.title;
    }
    EXPECT_GT(count_of(drawn_by_gnuplot(gnuplot_script(two_series(), PictureForm::svg)),
                       "stroke='rgb( 85,  85,  85)'"),
              0U);
}

// Of several panels only the empty one lacks its axes, and the next has ticks on one side.
TEST_F(Gnuplot, a_panel_after_one_that_says_what_is_missing_is_drawn_as_ever) {
    Chart both = two_series();
    both.panels.push_back(both.panels[0]);
    Chart one = both;
    one.panels[0] = Panel();
    one.panels[0].missing = "None.";
    const std::string of_both = drawn_by_gnuplot(gnuplot_script(both, PictureForm::svg));
    const std::string of_one = drawn_by_gnuplot(gnuplot_script(one, PictureForm::svg));
    EXPECT_THAT(of_one, HasSubstr("None."));
    std::size_t paths = 0;
    for (auto at = of_one.find("d='M"); at != std::string::npos; at = of_one.find("d='M", at + 1)) {
        const std::string path = of_one.substr(at, of_one.find("'/>", at) - at);
        EXPECT_THAT(of_both, HasSubstr(path));
        ++paths;
    }
    EXPECT_GT(paths, 10U);
}

TEST_F(Gnuplot, ticks_of_times_are_as_short_as_can_be) {
    Chart chart = two_series();
    chart.panels[0].y = {.title = "predicted",
                         .scale = Scale::seconds,
                         .logarithmic = true,
                         .low = 15e-6,
                         .high = 1.1e-3,
                         .ticks = {}};
    const std::string script = gnuplot_script(chart, PictureForm::svg);
    EXPECT_THAT(script, HasSubstr("'20 µs' 2e-05"));
    EXPECT_THAT(script, HasSubstr("'1 ms' 0.001"));
    EXPECT_THAT(script, Not(HasSubstr("%.1s %cs")));
}

TEST_F(Gnuplot, a_script_that_it_refuses_is_an_error) {
    EXPECT_THROW(static_cast<void>(drawn_by_gnuplot("plot nonsense(\n")), Error);
}

TEST(NoGnuplot, says_how_to_get_it) {
    const std::string path = ::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    try {
        static_cast<void>(drawn_by_gnuplot("plot x\n"));
        ADD_FAILURE() << "drew without gnuplot";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::unsupported);
        EXPECT_THAT(error.what(), HasSubstr("apt-get install gnuplot-nox"));
    }
    ::setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace raceline

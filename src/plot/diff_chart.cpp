// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "plot/charts.hpp"

namespace raceline {
namespace {

Series changes_of(const ReceiptDiff& diff, Change change, std::string_view title, Colour colour,
                  Mark mark) {
    Series series{.title = std::string(title),
                  .colour = colour,
                  .mark = mark,
                  .bars = Bars::along_x,
                  .points = {}};
    for (std::size_t i = 0; i < diff.cases.size(); ++i) {
        const CaseDiff& one = diff.cases[i];
        if (one.change == change) {
            series.points.push_back(
                {one.ratio, -static_cast<double>(i), one.ratio_low, one.ratio_high});
        }
    }
    series.title += fmt::format(" ({})", series.points.size());
    return series;
}

}  // namespace

Chart diff_chart(const ReceiptDiff& diff) {
    Chart chart{.title = "Time before over time after",
                .notes = {"Right of 1 it became faster; bars are 95 % intervals."},
                .panels = {}};
    if (diff.cases.empty()) {
        chart.notes = {"No case was timed on both sides."};
    }
    chart.notes.insert(chart.notes.end(), diff.notes.begin(), diff.notes.end());
    Panel panel;
    std::vector<double> ends{1};
    std::size_t longest = 4;
    for (std::size_t i = 0; i < diff.cases.size(); ++i) {
        const CaseDiff& one = diff.cases[i];
        const std::string name = one.after.kernel + " " + one.after.shape;
        longest = std::max(longest, name.size());
        panel.y.ticks.emplace_back(-static_cast<double>(i), name);
        ends.insert(ends.end(), {one.ratio_low, one.ratio_high});
    }
    panel.left_margin = 24 + 7.5 * static_cast<double>(longest);
    panel.x = {.title = "time before / time after",
               .scale = Scale::ratio,
               .logarithmic = true,
               .ticks = {}};
    panel.y.low = 0.4 - std::max(1.0, static_cast<double>(diff.cases.size()));
    panel.y.high = 0.6;
    fit(panel.x, ends);
    panel.series = {{.title = {},
                     .colour = Colour::black,
                     .line = Line::solid,
                     .points = {{1, panel.y.low}, {1, panel.y.high}}},
                    changes_of(diff, Change::faster, "faster", Colour::blue, Mark::circle),
                    changes_of(diff, Change::same, "the same", Colour::grey, Mark::square),
                    changes_of(diff, Change::slower, "slower", Colour::vermillion, Mark::triangle)};
    chart.width = 1100;
    chart.height = std::max(360.0, 170 + 18 * static_cast<double>(diff.cases.size()));
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline

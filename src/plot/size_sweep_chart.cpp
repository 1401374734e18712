// SPDX-License-Identifier: Apache-2.0
// What is predicted over a range of one size.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr std::string_view bytes_alone = "its bytes alone";
constexpr std::string_view operations_alone = "its operations alone";

Series line_over(const SizeSweep& sweep, std::string title, double SpeedOfLight::* seconds,
                 Series look) {
    look.title = std::move(title);
    const auto add = [&](std::int64_t size, const SpeedOfLight& bound) {
        if (bound.*seconds > 0) {
            look.points.push_back({static_cast<double>(size), bound.*seconds});
        }
    };
    for (const SizedProblem& one : sweep.sizes) {
        add(one.size, one.bound);
    }
    for (const SizeCrossing& crossing : sweep.crossings) {
        add(crossing.last + 1, crossing.bound);
    }
    std::ranges::sort(look.points, {}, &ChartPoint::x);
    return look;
}

// The kernels that serve the sizes, each with marks of its own.
void add_kernels(Panel& panel, const SizeSweep& sweep) {
    std::map<std::string, std::size_t> numbers;
    for (const SizedProblem& one : sweep.sizes) {
        if (one.kernel.empty()) {
            continue;
        }
        const auto [found, is_new] = numbers.emplace(one.kernel, panel.series.size());
        if (is_new) {
            const std::size_t i = numbers.size() - 1;
            panel.series.push_back({.title = "expected of " + one.kernel,
                                    .colour = nth_colour(i),
                                    .mark = nth_mark(i),
                                    .filled = false,
                                    .line = Line::solid,
                                    .points = {}});
        }
        panel.series[found->second].points.push_back({static_cast<double>(one.size), one.expected});
    }
}

void fit_axes(Panel& panel) {
    fit(panel.x, coordinates(panel, &ChartPoint::x));
    fit(panel.y, coordinates(panel, &ChartPoint::y, {bytes_alone, operations_alone}));
    // Below, what else would last long; above, the words of crossings.
    constexpr double below = 4;
    constexpr double above = 2;
    panel.y.low /= below;
    panel.y.high *= above;
}

// Words left of the line where more room is there than right of it.
void add_crossing(Panel& panel, const std::string& field, const SizeCrossing& crossing,
                  std::size_t i) {
    const double x = static_cast<double>(crossing.last + 1);
    panel.series.push_back({.title = {},
                            .colour = Colour::grey,
                            .line = Line::dashed,
                            .width = 1.5,
                            .points = {{x, panel.y.low}, {x, panel.y.high}}});
    const bool left = share_of(panel.x, x) > 0.5;
    panel.texts.push_back({.x = x,
                           .y = panel.y.high,
                           .text = fmt::format("{0}from {1}={2} on {3}{4}", left ? "" : " ", field,
                                               crossing.last + 1, crossing.after, left ? " " : ""),
                           .align = left ? Align::right : Align::left,
                           .backed = true,
                           .lines_below = 1 + static_cast<double>(i)});
}

}  // namespace

Chart size_sweep_chart(const SizeSweep& sweep) {
    Panel panel;
    panel.x = {.title = sweep.field, .logarithmic = true, .ticks = {}};
    panel.y = {.title = {}, .scale = Scale::seconds, .logarithmic = true, .ticks = {}};
    panel.series.push_back(line_over(sweep, std::string(bytes_alone), &SpeedOfLight::memory_seconds,
                                     {.title = {},
                                      .colour = Colour::green,
                                      .line = Line::dash_dotted,
                                      .width = 2,
                                      .points = {}}));
    panel.series.push_back(line_over(sweep, std::string(operations_alone),
                                     &SpeedOfLight::compute_seconds,
                                     {.title = {},
                                      .colour = Colour::vermillion,
                                      .line = Line::dotted,
                                      .width = 2,
                                      .points = {}}));
    panel.series.push_back(line_over(sweep, "bound of the problem", &SpeedOfLight::seconds,
                                     {.title = {}, .line = Line::solid, .width = 2, .points = {}}));
    add_kernels(panel, sweep);
    fit_axes(panel);
    for (std::size_t i = 0; i < sweep.crossings.size(); ++i) {
        add_crossing(panel, sweep.field, sweep.crossings[i], i);
    }
    Chart chart{
        .title = fmt::format("{} on {}: time over {}", sweep.shape, sweep.device, sweep.field),
        .key = "Predicted: nothing here was measured.",
        .panels = {std::move(panel)}};
    if (sweep.crossings.empty()) {
        chart.notes.push_back(
            fmt::format("{} bounds it everywhere.", sweep.sizes.front().bound.limiter));
    }
    give_axes_room(chart, 560, 380);
    return chart;
}

}  // namespace raceline

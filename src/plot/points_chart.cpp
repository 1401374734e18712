// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>

#include "plot/charts.hpp"
#include "plot/roof_lines.hpp"
#include "plot/roofs.hpp"

namespace raceline {
namespace {

// More names than this would cover each other; the legend then has numbers of points only.
constexpr std::size_t most_named = 12;
/// More points than this look alike: nobody could follow a colour or a line from one to its bound.
constexpr std::size_t most_apart = 200;

Series series_of(const ChartedPoint& one, std::size_t i, bool measured) {
    const double seconds = measured ? one.work.seconds : one.verdict.bound_seconds;
    return {.title = {},
            .colour = nth_colour(i),
            .mark = nth_mark(i),
            .filled = measured,
            .points = {{one.verdict.intensity, one.work.flops / seconds}}};
}

void add_point(Panel& panel, const ChartedPoint& one, std::size_t i, bool named) {
    Series bound = series_of(one, i, false);
    if (one.work.seconds <= 0) {
        bound.title = named ? one.name : "";
        panel.series.push_back(std::move(bound));
        return;
    }
    Series measured = series_of(one, i, true);
    panel.series.push_back({.title = {},
                            .colour = bound.colour,
                            .line = Line::dotted,
                            .points = {bound.points.front(), measured.points.front()}});
    measured.title =
        named ? fmt::format("{}, {:.0f} % of the roof", one.name, 100 * one.verdict.of_roof) : "";
    panel.series.push_back(std::move(bound));
    panel.series.push_back(std::move(measured));
}

bool has_place(const ChartedPoint& one) {
    return one.verdict.intensity > 0;
}

// All bounds in one series and all measurements in another, whatever their number: gnuplot takes
// long for each series, not for each point.
void add_alike(Panel& panel, const std::vector<ChartedPoint>& points) {
    Series bounds{.title = "bounds",
                  .colour = Colour::black,
                  .mark = Mark::circle,
                  .filled = false,
                  .size = 0.6,
                  .points = {}};
    Series measured{.title = "measured",
                    .colour = Colour::blue,
                    .mark = Mark::circle,
                    .size = 0.6,
                    .points = {}};
    for (const ChartedPoint& one : points) {
        if (has_place(one)) {
            bounds.points.push_back(
                {one.verdict.intensity, one.work.flops / one.verdict.bound_seconds});
        }
        if (has_place(one) && one.work.seconds > 0) {
            measured.points.push_back({one.verdict.intensity, one.work.flops / one.work.seconds});
        }
    }
    panel.series.push_back(std::move(bounds));
    if (!measured.points.empty()) {
        panel.series.push_back(std::move(measured));
    }
}

}  // namespace

Chart points_chart(const Device& device, const std::vector<ChartedPoint>& points) {
    const Roofs roofs = roofs_of(device);
    Panel panel;
    panel.x = {.title = "arithmetic intensity, FLOP per byte", .logarithmic = true, .ticks = {}};
    panel.y = {.title = "", .scale = Scale::flops_per_second, .logarithmic = true, .ticks = {}};
    panel.left_margin = 96;
    std::vector<double> x, y;
    std::size_t left_out = 0;
    for (const ChartedPoint& one : points) {
        left_out += has_place(one) ? 0 : 1;
        if (has_place(one)) {
            x.push_back(one.verdict.intensity);
            y.push_back(one.work.flops / one.verdict.bound_seconds);
            if (one.work.seconds > 0) {  // which may be beyond the roof
                y.push_back(one.work.flops / one.work.seconds);
            }
        }
    }
    add_roof_extent(roofs, x, y);
    fit(panel.x, x, 0.12);
    fit(panel.y, y);
    add_roofs(panel, roofs, Line::solid, "");
    make_room_for_names(panel, roofs.engines);
    const bool alike = points.size() > most_apart;
    for (std::size_t i = 0; !alike && i < points.size(); ++i) {
        if (has_place(points[i])) {
            add_point(panel, points[i], i, points.size() <= most_named);
        }
    }
    if (alike) {
        add_alike(panel, points);
    }
    Chart chart{.title = "Roofline: " + device.name,
                .key = alike ? "Hollow: the bound; filled: measured."
                             : "Hollow: the bound; filled: measured; a dotted line joins them.",
                .panels = {std::move(panel)}};
    if (points.size() > most_named) {
        chart.notes.push_back(fmt::format(
            "{} points: their names are left out, {}; the table has them.", points.size(),
            alike ? "and they all look alike" : "since they would overlap"));
    }
    if (left_out > 0) {
        chart.notes.push_back(fmt::format(
            "{} without operations or without bytes: no place on a roofline.", left_out));
    }
    const bool burst = std::ranges::any_of(points, [&](const ChartedPoint& one) {
        const auto roof = std::ranges::find(roofs.engines, one.verdict.engine, &Roof::resource);
        return roof != roofs.engines.end() && one.verdict.engine_rate > roof->rate;
    });
    if (burst) {
        chart.notes.emplace_back(
            "Roofs are lasting rates; a bound counts the higher one of a short burst.");
    }
    if (const std::string missing = missing_roofs(roofs); !missing.empty()) {
        chart.notes.push_back(missing);
    }
    if (const std::string shared = shared_memory_note(roofs); !shared.empty()) {
        chart.notes.push_back(shared);
    }
    const Place place = place_of(chart, 0);  // once the notes are known, which take room
    add_engine_names(chart.panels[0], roofs.engines, place);
    add_memory_names(chart.panels[0], roofs, "", place);
    return chart;
}

}  // namespace raceline

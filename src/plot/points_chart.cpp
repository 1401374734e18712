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
        const bool has_place = one.verdict.intensity > 0;
        left_out += has_place ? 0 : 1;
        if (has_place) {
            x.push_back(one.verdict.intensity);
            y.push_back(one.work.flops / std::max(one.verdict.bound_seconds, one.work.seconds));
            y.push_back(one.work.flops / one.verdict.bound_seconds);
        }
    }
    add_roof_extent(roofs, x, y);
    fit(panel.x, x, 0.12);
    fit(panel.y, y);
    add_roofs(panel, roofs, Line::solid, "");
    make_room_for_names(panel, roofs.engines);
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (points[i].verdict.intensity > 0) {
            add_point(panel, points[i], i, points.size() <= most_named);
        }
    }
    Chart chart{.title = "Roofline: " + device.name,
                .key = "Hollow: the bound; filled: measured; a dotted line joins them.",
                .panels = {std::move(panel)}};
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

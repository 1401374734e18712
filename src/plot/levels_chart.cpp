// SPDX-License-Identifier: Apache-2.0
// Predictions under the roofs of all levels of memory.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "plot/charts.hpp"
#include "plot/panel_room.hpp"
#include "plot/roof_lines.hpp"
#include "plot/roofs.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr std::array level_marks{std::pair(std::string_view("DRAM"), Mark::circle),
                                 std::pair(std::string_view("L2"), Mark::square),
                                 std::pair(std::string_view("SMEM"), Mark::triangle)};

// How long the bytes of this level last; 0: the kernel has none there that are known.
double seconds_at(const Roofline& work, const Roof& level) {
    const auto of = [&](const std::string& resource) {
        const auto found = work.seconds.find(resource);
        return found == work.seconds.end() ? 0 : found->second;
    };
    // What matrix engines read of shared memory comes through the same banks.
    return level.name == "SMEM" ? std::max(of(level.resource), of("byte.smem_mma"))
                                : of(level.resource);
}

// Operations for each byte of a level.
double intensity_at(const ChartedPrediction& one, const Roof& level) {
    const Roofline& work = one.prediction.layer1;
    if (level.name == "DRAM") {
        return work.arithmetic_intensity;
    }
    const double seconds = seconds_at(work, level);
    return seconds > 0 ? one.flops / (seconds * level.rate) : 0;
}

struct LevelMark {
    Mark mark;
    ChartPoint at;
    double roof;  // what its level and the engines would allow there
};

std::vector<LevelMark> marks_of(const ChartedPrediction& one, const Roofs& roofs) {
    std::vector<LevelMark> marks;
    double top = 0;  // of the engines that it needs
    for (const Roof& engine : roofs.engines) {
        const bool needed = one.prediction.layer1.seconds.contains(engine.resource);
        top = std::max(top, needed ? engine.rate : 0);
    }
    for (const Roof& level : roofs.memory) {
        const auto* const known =
            std::ranges::find(level_marks, level.name, [](const auto& mark) { return mark.first; });
        const double x = intensity_at(one, level);
        if (known != level_marks.end() && x > 0) {
            marks.push_back({known->second,
                             {x, one.flops / one.prediction.seconds},
                             std::min(x * level.rate, top)});
        }
    }
    return marks;
}

// A level line through the marks of a case, one for each level, and dotted ones up to their roofs.
void add_case(Panel& panel, const ChartedPrediction& one, const std::vector<LevelMark>& marks,
              Colour colour) {
    Series join{
        .title = fmt::format("{}, {}: limited by {}", one.name, one.kernel, one.prediction.limiter),
        .colour = colour,
        .line = Line::solid,
        .width = 1.5,
        .points = {}};
    for (const LevelMark& mark : marks) {
        join.points.push_back(mark.at);
        panel.series.push_back({.title = {},
                                .colour = colour,
                                .line = Line::dotted,
                                .width = 2,
                                .points = {mark.at, {mark.at.x, mark.roof}}});
    }
    std::ranges::sort(join.points, {}, &ChartPoint::x);
    panel.series.push_back(std::move(join));
    for (const LevelMark& mark : marks) {
        panel.series.push_back({.title = {},
                                .colour = colour,
                                .mark = mark.mark,
                                .filled = false,
                                .size = 1.3,
                                .points = {mark.at}});
    }
}

}  // namespace

Chart levels_chart(const Device& device, const std::vector<ChartedPrediction>& predictions) {
    Roofs roofs = roofs_of(device);
    std::erase_if(roofs.engines, [&](const Roof& roof) {
        return std::ranges::none_of(predictions, [&](const ChartedPrediction& one) {
            return one.prediction.layer1.seconds.contains(roof.resource);
        });
    });
    Chart chart{.title = fmt::format("{}: each kernel at each level of memory", device.name),
                .key =
                    "Circle: operations a byte of DRAM; square: of L2; triangle: of shared "
                    "memory. Height: the model's rate. Dotted: up to the roof of the level."};
    if (const std::string missing = missing_roofs(roofs); !missing.empty()) {
        chart.notes.push_back(missing);
    }
    const auto draw = [&](const Room& room, const Place& place) {
        Panel panel;
        panel.x = {
            .title = "operations a byte of the level, FLOP/B", .logarithmic = true, .ticks = {}};
        panel.y = {.title = "", .scale = Scale::flops_per_second, .logarithmic = true, .ticks = {}};
        panel.left_margin = 96;
        std::vector<double> x;
        std::vector<double> y;
        for (const ChartedPrediction& one : predictions) {
            for (const LevelMark& mark : marks_of(one, roofs)) {
                x.push_back(mark.at.x);
                y.push_back(mark.at.y);
                y.push_back(mark.roof);
            }
        }
        add_roof_extent(roofs, x, y);
        fit(panel.x, x, 0.12);
        fit(panel.y, y);
        panel.x.low /= room.along;
        panel.y.high *= room.above;
        add_roofs(panel, roofs, Line::solid, "");
        make_room_for_names(panel, roofs.engines);
        add_engine_names(panel, roofs.engines, place);
        for (std::size_t i = 0; i < predictions.size(); ++i) {
            add_case(panel, predictions[i], marks_of(predictions[i], roofs), nth_colour(i));
        }
        const bool fits = add_memory_names(panel, roofs, "", place);
        return DrawnPanel{std::move(panel), fits};
    };
    draw_panels(chart, {draw}, {.width = 600, .height = 400});
    return chart;
}

}  // namespace raceline

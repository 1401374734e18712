// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_gap.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace raceline {
namespace {

// Whether words at (x, y) would stand on a text; `line`: their height as a share of the axis. A
// text along a diagonal takes about a third of the panel's width.
bool covers(const Panel& panel, const ChartText& text, double x, double y, double line) {
    const double across = std::log(panel.x.high / panel.x.low);
    const double wide = 2.06 * line;  // a speed-up in five letters, as a share of the x axis
    const double up = std::log(panel.y.high / panel.y.low);
    for (const double along : {0.0, 0.1, 0.2, 0.3}) {
        const double shift = text.towards ? std::exp(along * across) : 1;
        if (std::abs(std::log(text.x * shift / x)) < wide * across &&
            std::abs(std::log(text.y * shift / y)) < line * up) {
            return true;
        }
    }
    return false;
}

// Upwards from y until no other text stands there.
double free_height(const Panel& panel, double x, double y, double line) {
    const auto taken = [&](const ChartText& text) { return covers(panel, text, x, y, line); };
    const double step = std::pow(panel.y.high / panel.y.low, 0.01);
    while (std::ranges::any_of(panel.texts, taken)) {
        y *= step;
    }
    return y;
}

// Whether the roof that holds the point is one of those that are drawn, and passes there.
bool is_drawn(const RooflinePoint& point, const Roofs& roofs) {
    constexpr double near = 0.03;  // lines closer than this touch
    const auto passes = [&](double rate) { return std::abs(rate / point.limit - 1) < near; };
    return std::ranges::any_of(roofs.engines,
                               [&](const Roof& roof) {
                                   return roof.resource == point.limiter && passes(roof.rate);
                               }) ||
           std::ranges::any_of(roofs.memory, [&](const Roof& roof) {
               return roof.resource == "byte.dram_read" && point.limiter == "dram" &&
                      passes(roof.rate * point.intensity);
           });
}

bool is_memory(const std::string& limiter) {
    return limiter == "dram" || limiter.starts_with("byte.");
}

}  // namespace

void add_gap(Panel& panel, const RooflinePoint& point, const Roofs& roofs, Colour colour,
             double shift, double line) {
    const double left = point.limit / point.measured;
    const bool slopes = is_memory(point.limiter);
    const double x = point.intensity * shift;
    const double y = slopes ? point.limit * shift : point.limit;
    const bool drawn = is_drawn(point, roofs);
    panel.series.push_back({.title = fmt::format("{:.2f}× left to {}{}", left, point.limiter,
                                                 drawn ? "" : " (short bar)"),
                            .colour = colour,
                            .line = Line::dotted,
                            .width = 2,
                            .points = {{x, point.measured}, {x, y}}});
    if (!drawn) {
        const double wide = std::pow(panel.x.high / panel.x.low, 0.008);
        const double rise = slopes ? wide : 1;
        panel.series.push_back({.title = {},
                                .colour = colour,
                                .line = Line::solid,
                                .width = 3,
                                .points = {{x / wide, y / rise}, {x * wide, y * rise}}});
    }
    const double above = drawn ? 0.02 : 0.02 + line / 3;  // as a share of the y axis
    panel.texts.push_back(
        {.x = x,
         .y = free_height(panel, x, y * std::pow(panel.y.high / panel.y.low, above), line),
         .text = fmt::format("{:.2f}×", left),
         .colour = colour,
         .align = Align::centre});
}

double room_for_gaps(const Panel& panel, double line) {
    const double half = std::pow(panel.y.high / panel.y.low, line / 2);
    double room = 1;
    for (const ChartText& text : panel.texts) {
        if (text.align == Align::centre) {
            room = std::max(room, text.y * half / panel.y.high);
        }
    }
    return room;
}

}  // namespace raceline

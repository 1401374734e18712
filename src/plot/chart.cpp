// SPDX-License-Identifier: Apache-2.0
#include "plot/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>

#include "support/text_table.hpp"

namespace raceline {

namespace {

constexpr std::array colours{Colour::blue,  Colour::vermillion, Colour::green, Colour::purple,
                             Colour::brown, Colour::violet,     Colour::black};

}  // namespace

Colour nth_colour(std::size_t i) {
    return colours[i % colours.size()];
}

Mark nth_mark(std::size_t i) {
    constexpr std::array marks{Mark::circle,   Mark::square,
                               Mark::triangle, Mark::inverted_triangle,
                               Mark::diamond,  Mark::pentagon};
    return marks[i % marks.size()];
}

Line nth_dash(std::size_t i) {
    constexpr std::array dashes{Line::dashed, Line::dash_dotted, Line::dotted};
    return dashes[i / colours.size() % dashes.size()];
}

std::vector<double> ratio_places(double low, double high) {
    constexpr std::size_t most = 10;
    // Of each decade, the finest first.
    static const std::vector<std::vector<double>> all_steps{
        {1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
        {1, 1.25, 1.5, 2, 3, 5, 8},
        {1, 2, 5},
        {1}};
    std::vector<double> places;
    for (const std::vector<double>& steps : all_steps) {
        places.clear();
        for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high;
             decade *= 10) {
            for (const double step : steps) {
                if (const double at = step * decade; at >= low && at <= high) {
                    places.push_back(at);
                }
            }
        }
        if (places.size() <= most) {
            break;
        }
    }
    return places;
}

bool drawable(double value) {
    constexpr double most = 1e30;
    const double size = std::abs(value);
    return size < most && (size == 0 || size > 1 / most);
}

void leave_out_extremes(Chart& chart) {
    std::size_t out = 0;
    for (Panel& panel : chart.panels) {
        for (Series& series : panel.series) {
            out += std::erase_if(series.points, [&](const ChartPoint& point) {
                const bool gap = std::isnan(point.x) || std::isnan(point.y);
                const bool ends =
                    series.bars == Bars::none || (drawable(point.low) && drawable(point.high));
                return !gap && !(drawable(point.x) && drawable(point.y) && ends);
            });
        }
        std::erase_if(panel.texts,
                      [](const ChartText& text) { return !drawable(text.x) || !drawable(text.y); });
    }
    if (out > 0) {
        chart.notes.push_back(counted_text(out, "point") +
                              " not drawn: beyond what any device reaches");
    }
}

bool draws_nothing(const Chart& chart) {
    return !chart.panels.empty() && std::ranges::all_of(chart.panels, [](const Panel& panel) {
        return !panel.missing.empty();
    });
}

std::vector<double> coordinates(const Panel& panel, double ChartPoint::* of,
                                const std::vector<std::string_view>& without) {
    std::vector<double> found;
    for (const Series& series : panel.series) {
        if (std::ranges::find(without, series.title) == without.end()) {
            std::ranges::transform(series.points, std::back_inserter(found), of);
        }
    }
    return found;
}

void fit(Axis& axis, const std::vector<double>& values, double room) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const double value : values) {
        if (drawable(value) && (value > 0 || !axis.logarithmic)) {
            const double at = axis.logarithmic ? std::log10(value) : value;
            low = std::min(low, at);
            high = std::max(high, at);
        }
    }
    if (low > high) {
        low = 0;
        high = 1;
    }
    const double margin = high > low ? room * (high - low) : 0.5;
    low -= margin;
    high += margin;
    axis.low = axis.logarithmic ? std::pow(10, low) : low;
    axis.high = axis.logarithmic ? std::pow(10, high) : high;
}

}  // namespace raceline

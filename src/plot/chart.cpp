// SPDX-License-Identifier: Apache-2.0
#include "plot/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace raceline {

Colour nth_colour(std::size_t i) {
    constexpr std::array colours{Colour::blue,   Colour::vermillion, Colour::green, Colour::purple,
                                 Colour::orange, Colour::sky_blue,   Colour::black};
    return colours[i % colours.size()];
}

Mark nth_mark(std::size_t i) {
    constexpr std::array marks{Mark::circle,   Mark::square,
                               Mark::triangle, Mark::inverted_triangle,
                               Mark::diamond,  Mark::pentagon};
    return marks[i % marks.size()];
}

void fit(Axis& axis, const std::vector<double>& values, double room) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const double value : values) {
        if (std::isfinite(value) && (value > 0 || !axis.logarithmic)) {
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

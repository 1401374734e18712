// SPDX-License-Identifier: Apache-2.0
// Where the parts of a chart stand on its picture.
#pragma once

#include <cstddef>

#include "plot/chart.hpp"

namespace raceline {

inline constexpr double line_height = 17;  ///< of the font of pictures, in pixels

/// Where a panel's axes stand, as shares of the picture from its lower left corner.
struct Place {
    double left = 0, right = 1, bottom = 0, top = 1;
    double width = 0, height = 0;     ///< pixels between the axes
    double middle = 0.5, legend = 0;  ///< of its legend: the middle, and the lower edge
    std::size_t legend_rows = 0;
    double title_shift = 0;  ///< of the panel's title from the middle of its axes, so that it fits
};

/// Of the panel with this number: rows from the top, each with room for titles and legends.
Place place_of(const Chart& chart, std::size_t index);

/// The slope of a text that runs `towards` a place, in degrees on the picture; 0 for any other.
double angle_of(const Panel& panel, const Place& place, const ChartText& text);

}  // namespace raceline

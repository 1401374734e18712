// SPDX-License-Identifier: Apache-2.0
// Where the parts of a chart stand on its picture.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plot/chart.hpp"
#include "plot/legend.hpp"

namespace raceline {

inline constexpr double line_height = 17;    ///< of the font of pictures, in pixels
inline constexpr double letter_width = 7.2;  ///< on average, and of no long text less

/// How many letters a text has: its code points.
std::size_t letters(std::string_view text);

/// A text in lines that fit a picture of so many pixels. Only words are parted.
std::vector<std::string> lines_of(std::string_view text, double width);

/// Title, key and notes of a chart, as lines that fit its width; the first `title_lines` are the
/// title's.
struct Heading {
    std::vector<std::string> lines;
    std::size_t title_lines = 0;
};
Heading heading_of(const Chart& chart);

/// Where a panel's axes stand, as shares of the picture from its lower left corner.
struct Place {
    double left = 0, right = 1, bottom = 0, top = 1;
    double width = 0, height = 0;     ///< pixels between the axes
    double middle = 0.5, legend = 0;  ///< of its legend: the middle, and the lower edge
    Legend entries = {};
    double title_shift = 0;  ///< of the panel's title from the middle of its axes, so that it fits
    double title_rise = 0;   ///< of the title above its place over the axes
};

/// Of the panel with this number: rows from the top, each with room for titles and legends.
Place place_of(const Chart& chart, std::size_t index);

/// Makes panels and chart so large that all axes have at least this many pixels, however many notes
/// and entries of legends the chart has, and however long names beside its axes are.
void give_axes_room(Chart& chart, double width, double height);

/// The height of a line of words, as a share of the y axis.
double line_share(const Place& place);

/// Where a value stands between the ends of an axis: 0 at the low one, 1 at the high one.
double share_of(const Axis& axis, double value);

/// Corners of the box that a text takes, in pixels from the lower left corner of the axes.
using Box = std::array<std::pair<double, double>, 4>;
Box box_of(const Panel& panel, const Place& place, const ChartText& text);
/// Of a mark at a point of the axes.
Box box_of(const Panel& panel, const Place& place, const ChartPoint& point);

/// Of all texts of a panel, and of all marks of its series.
std::vector<Box> boxes_of_words(const Panel& panel, const Place& place);
std::vector<Box> boxes_of_marks(const Panel& panel, const Place& place);
/// Of a straight line with two ends; `half`: its pixels on either side.
Box box_of_line(const Panel& panel, const Place& place, const Series& series, double half = 0.5);
/// Of straight grey lines with two ends.
std::vector<Box> boxes_of_roofs(const Panel& panel, const Place& place);

/// Whether two boxes, both with right angles, share any part.
bool overlap(const Box& one, const Box& other);

/// By how many pixels a text that runs along a line stands off it, so that the line does not cross
/// it: right and up.
std::pair<double, double> stand_off(const Panel& panel, const Place& place, const ChartText& text);

/// The slope of a text that runs `towards` a place, in degrees on the picture; 0 for any other.
double angle_of(const Panel& panel, const Place& place, const ChartText& text);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// A chart as plain data: what is drawn where, without a word of how. Receipts become one of these
// (charts.hpp), which becomes a script for gnuplot (gnuplot_script.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace raceline {

/// Colours that people with any form of colour blindness can tell apart and that stand out on white
/// by a contrast of three or more: those of the Okabe-Ito palette, with brown and violet for its
/// orange and its sky blue, which are too light; and a grey for what stands in the background.
enum class Colour { blue, vermillion, green, purple, brown, violet, black, grey };

enum class Mark { none, square, circle, triangle, inverted_triangle, diamond, pentagon };

enum class Line { none, solid, dashed, dotted, dash_dotted };

/// Which way the interval of a point runs.
enum class Bars { none, along_x, along_y };

/// A place on a panel. A point whose x or y is not finite interrupts a line and is not drawn.
struct ChartPoint {
    double x = 0, y = 0;
    double low = 0, high = 0;  ///< ends of its interval, where the series has bars
};

/// Points that look alike. Without a title it stands in no legend.
struct Series {
    std::string title;
    Colour colour = Colour::black;
    Mark mark = Mark::none;
    bool filled = true;  ///< a hollow mark is a prediction, a filled one a measurement
    double size = 1;     ///< of the marks, beside others'
    Line line = Line::none;
    double width = 1;  ///< of the line, in points
    /// Of a line without marks the mark of the series that it goes with: a terminal, which has no
    /// colours, shows its points as small letters of that one.
    Mark beside = Mark::none;
    Bars bars = Bars::none;
    /// A line that has to be seen over marks: on white in a picture, and of colons in a terminal,
    /// where lines are of letters that others have too.
    bool over_marks = false;
    std::vector<ChartPoint> points;
};

/// What an axis counts in. Seconds, flop/s and the like get the SI prefix that fits.
enum class Scale { plain, seconds, flops_per_second, percent, ratio };

struct Axis {
    std::string title;
    Scale scale = Scale::plain;
    bool logarithmic = false;
    double low = 0, high = 1;                           ///< what it shows; low < high
    std::vector<std::pair<double, std::string>> ticks;  ///< empty: where gnuplot puts them
    bool upright = false;                               ///< ticks of the x axis are turned
};

enum class Align { left, centre, right };

/// Words at a place of the panel's axes.
struct ChartText {
    double x = 0, y = 0;
    std::string text;
    Colour colour = Colour::black;
    Align align = Align::left;
    /// Written along the straight line from (x, y) to here; on axes of any scale.
    std::optional<std::pair<double, double>> towards = {};
    bool backed = false;     ///< on white, above marks
    bool under = false;      ///< of words along a line: below it, not above
    double lines_below = 0;  ///< so many lines of words below its place
    /// The place that words speak of, where they may stand elsewhere: a line joins the two. Of
    /// words right of the axes it is the end of a roof, and a terminal has an arrow.
    std::optional<std::pair<double, double>> led_from = {};
};

struct Panel {
    std::string title;
    /// A sentence that stands in the place of axes, where there is nothing to draw on them.
    std::string missing = {};
    Axis x, y;
    std::vector<Series> series;  ///< the first is drawn first
    std::vector<ChartText> texts;
    double width = 1;           ///< share of the chart's width, beside the other panels'
    double height = 1;          ///< likewise, of a chart with several rows
    double right_margin = 20;   ///< pixels, for texts that stand right of the axes
    double left_margin = 80;    ///< pixels, for the y axis and its ticks
    bool legend_above = false;  ///< of a panel so high that nobody would look for it below
};

/// Panels stand side by side, or in rows, each with its legend below or above.
struct Chart {
    std::string title;
    std::string key = {};                 ///< how its marks are read; "" where nothing is drawn
    std::vector<std::string> notes = {};  ///< what it rests on, and what is missing
    std::vector<Panel> panels = {};
    std::size_t columns = 0;           ///< panels in a row; 0: all
    double width = 960, height = 640;  ///< pixels
};

/// Pixels that a chart takes which draws nothing but says what is missing.
inline constexpr double height_of_missing = 200;

/// The colour and the mark of the i-th of several series, which repeat as late as they can.
Colour nth_colour(std::size_t i);
Mark nth_mark(std::size_t i);
/// The broken line of the i-th of several series: another one each time that the colours return.
Line nth_dash(std::size_t i);

/// Whether a chart can show a value: what lies beyond no device reaches, and an axis that had it
/// would show nothing else.
bool drawable(double value);

/// Places of ticks and grid lines of a logarithmic axis of ratios: as many of 0.8, 1, 1.25, 1.5, 2
/// and the like as can be read beside each other.
std::vector<double> ratio_places(double low, double high);

/// Takes points out that no axis can show, and says in a note how many there were.
void leave_out_extremes(Chart& chart);

/// Whether there are panels, and all say what is missing instead of drawing anything.
bool draws_nothing(const Chart& chart);

/// Lets an axis show all of `values` that are drawable, with room at both ends. Only positive ones
/// count on a logarithmic axis; without any it shows 1 to 10 (0 to 1 where it is not logarithmic).
void fit(Axis& axis, const std::vector<double>& values, double room = 0.06);

/// One coordinate, `of`, of the points of all series but those with a title in `without`.
std::vector<double> coordinates(const Panel& panel, double ChartPoint::* of,
                                const std::vector<std::string_view>& without = {});

}  // namespace raceline

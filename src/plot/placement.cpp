// SPDX-License-Identifier: Apache-2.0
#include "plot/placement.hpp"

#include <algorithm>
#include <cmath>

namespace raceline {
namespace {

// As gnuplot counts for an SVG, whose letters it does not measure.
Legend legend_in(const Panel& panel, double width) {
    return legend_of(panel, width, 8.4, 48);
}

// Pixels that title, key and notes take.
double heading(const Chart& chart) {
    return 14 + line_height * (0.4 + static_cast<double>(heading_of(chart).lines.size()));
}

// The panels of a row: [first, last), as many columns as the first row has.
struct PanelRow {
    std::size_t first, last;
};

std::size_t columns_of(const Chart& chart) {
    return chart.columns == 0 ? std::max<std::size_t>(1, chart.panels.size()) : chart.columns;
}

PanelRow row_of(const Chart& chart, std::size_t index) {
    const std::size_t columns = columns_of(chart);
    const std::size_t first = index / columns * columns;
    return {first, std::min(chart.panels.size(), first + columns)};
}

double height_of(const Chart& chart, PanelRow row) {
    double most = 0;
    for (std::size_t i = row.first; i < row.last; ++i) {
        most = std::max(most, chart.panels[i].height);
    }
    return most;
}

// Upper and lower end of a row, in pixels from the top.
std::pair<double, double> ends_of(const Chart& chart, PanelRow row) {
    double before = 0;
    double total = 0;
    for (std::size_t i = 0; i < chart.panels.size(); i += columns_of(chart)) {
        const double height = height_of(chart, row_of(chart, i));
        before += i < row.first ? height : 0;
        total += height;
    }
    const double top = heading(chart);
    const double each = (chart.height - top) / total;
    return {top + before * each, top + (before + height_of(chart, row)) * each};
}

// Pixels of a panel that stand above its axes and below them.
struct Rims {
    double above, below;
    Legend legend;
    double legend_height;
};

// `width`: of the panel, in pixels.
Rims rims_of(const Chart& chart, std::size_t index, double width) {
    const Panel& panel = chart.panels[index];
    const bool titled =
        std::ranges::any_of(chart.panels, [](const Panel& one) { return !one.title.empty(); });
    Rims rims{};
    rims.legend = legend_in(panel, width);
    rims.legend_height = line_height * 1.1 * static_cast<double>(rims.legend.rows);
    rims.below = 62 + (panel.x.upright ? 58 : 0) + (panel.legend_above ? 0 : rims.legend_height);
    // Below the legends of the row above, or the notes.
    rims.above = (titled ? (row_of(chart, index).first > 0 ? 2.0 : 1.7) * line_height : 0) +
                 (panel.legend_above ? rims.legend_height + 8 : 0);
    return rims;
}

// Left and right end of a panel, in pixels.
std::pair<double, double> sides_of(const Chart& chart, std::size_t index) {
    const std::size_t column = index - row_of(chart, index).first;
    double total = 0;
    double before = 0;
    for (std::size_t i = 0; i < std::min(columns_of(chart), chart.panels.size()); ++i) {
        total += chart.panels[i].width;
        before += i < column ? chart.panels[i].width : 0;
    }
    return {before / total * chart.width,
            (before + chart.panels[index].width) / total * chart.width};
}

// A title stands over the middle of the axes; one that would leave its panel there moves inwards,
// as far as its other end allows.
double title_shift(const std::string& title, double middle, double from, double to) {
    const double half = static_cast<double>(letters(title)) * letter_width / 2;
    const double left = std::max(0.0, from + half - middle);
    const double right = std::max(0.0, middle + half - to);
    return left > 0 && right > 0 ? (from + to) / 2 - middle : left > 0 ? left : -right;
}

// Corners of a box whose middle and half sides are given; its long side rises by `angle`.
Box turned(double x, double y, double half_width, double half_height, double angle) {
    const double c = std::cos(angle);
    const double s = std::sin(angle);
    Box box;
    constexpr std::array<std::pair<int, int>, 4> signs{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}};
    for (std::size_t i = 0; i < signs.size(); ++i) {
        const double along = signs.at(i).first * half_width;
        const double up = signs.at(i).second * half_height;
        box.at(i) = {x + c * along - s * up, y + s * along + c * up};
    }
    return box;
}

// Whether a line along a side of `one` parts the two.
bool parted(const Box& one, const Box& other) {
    for (std::size_t i = 0; i < 2; ++i) {
        const auto [x0, y0] = one.at(i);
        const auto [x1, y1] = one.at(i + 1);
        const auto along = [&](const std::pair<double, double>& corner) {
            return (y1 - y0) * corner.first + (x0 - x1) * corner.second;
        };
        const auto [low, high] = std::ranges::minmax(one, {}, along);
        const auto [from, to] = std::ranges::minmax(other, {}, along);
        if (along(high) <= along(from) || along(to) <= along(low)) {
            return true;
        }
    }
    return false;
}

constexpr double degrees = 57.29577951308232;

}  // namespace

std::size_t letters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> lines_of(std::string_view text, double width) {
    const auto most = static_cast<std::size_t>(std::max(20.0, width / letter_width));
    std::vector<std::string> lines{{}};
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string word(text.substr(begin, end - begin));
        std::string& line = lines.back();
        if (line.empty()) {
            line = word;
        } else if (letters(line) + 1 + letters(word) <= most) {
            line += " " + word;
        } else {
            lines.push_back(word);
        }
        begin = end + 1;
    }
    return lines;
}

Heading heading_of(const Chart& chart) {
    constexpr double margin = 24;
    const double width = chart.width - margin;
    constexpr double larger = 1.35;  // letters of the title, which in PNG are wider than in SVG
    Heading heading{.lines = lines_of(chart.title, width / larger), .title_lines = 0};
    heading.title_lines = heading.lines.size();
    const auto add = [&](const std::string& text) {
        for (std::string& line : lines_of(text, width)) {
            heading.lines.push_back(std::move(line));
        }
    };
    if (!chart.key.empty()) {
        add(chart.key);
    }
    for (const std::string& note : chart.notes) {
        add(note);
    }
    return heading;
}

double share_of(const Axis& axis, double value) {
    return axis.logarithmic ? std::log(value / axis.low) / std::log(axis.high / axis.low)
                            : (value - axis.low) / (axis.high - axis.low);
}

double line_share(const Place& place) {
    return line_height / place.height;
}

std::pair<double, double> stand_off(const Panel& panel, const Place& place, const ChartText& text) {
    const double angle = angle_of(panel, place, text) / degrees;
    const double off = (text.under ? -0.6 : 0.6) * line_height;
    return text.towards ? std::pair(-off * std::sin(angle), off * std::cos(angle))
                        : std::pair(0.0, 0.0);
}

Box box_of(const Panel& panel, const Place& place, const ChartText& text) {
    const double angle = angle_of(panel, place, text) / degrees;
    const double half = static_cast<double>(letters(text.text)) * letter_width / 2;
    const double middle = text.align == Align::left ? half : text.align == Align::right ? -half : 0;
    const auto [right, up] = stand_off(panel, place, text);
    return turned(share_of(panel.x, text.x) * place.width + right + middle * std::cos(angle),
                  share_of(panel.y, text.y) * place.height + up + middle * std::sin(angle) -
                      text.lines_below * line_height,
                  half, line_height / 2, angle);
}

Box box_of(const Panel& panel, const Place& place, const ChartPoint& point) {
    constexpr double half = 4;  // of a mark
    return turned(share_of(panel.x, point.x) * place.width,
                  share_of(panel.y, point.y) * place.height, half, half, 0);
}

std::vector<Box> boxes_of_words(const Panel& panel, const Place& place) {
    std::vector<Box> boxes;
    boxes.reserve(panel.texts.size());
    for (const ChartText& text : panel.texts) {
        boxes.push_back(box_of(panel, place, text));
    }
    return boxes;
}

std::vector<Box> boxes_of_marks(const Panel& panel, const Place& place) {
    std::vector<Box> boxes;
    for (const Series& series : panel.series) {
        for (const ChartPoint& point : series.points) {
            if (series.mark != Mark::none && std::isfinite(point.x) && std::isfinite(point.y)) {
                boxes.push_back(box_of(panel, place, point));
            }
        }
    }
    return boxes;
}

Box box_of_line(const Panel& panel, const Place& place, const Series& series, double half) {
    const auto at = [&](const ChartPoint& point) {
        return std::pair(share_of(panel.x, point.x) * place.width,
                         share_of(panel.y, point.y) * place.height);
    };
    const auto [x, y] = at(series.points.at(0));
    const auto [to_x, to_y] = at(series.points.at(1));
    return turned((x + to_x) / 2, (y + to_y) / 2, std::hypot(to_x - x, to_y - y) / 2, half,
                  std::atan2(to_y - y, to_x - x));
}

std::vector<Box> boxes_of_roofs(const Panel& panel, const Place& place) {
    std::vector<Box> boxes;
    for (const Series& series : panel.series) {
        if (series.colour == Colour::grey && series.line != Line::none &&
            series.points.size() == 2) {
            boxes.push_back(box_of_line(panel, place, series));
        }
    }
    return boxes;
}

bool overlap(const Box& one, const Box& other) {
    // Of thousands of marks nearly all are far away, which is seen at once.
    const auto far = [&](auto coordinate) {
        const auto middle = [&](const Box& box) {
            return (box[0].*coordinate + box[2].*coordinate) / 2;
        };
        const auto reach = [](const Box& box) {
            return (std::abs(box[2].first - box[0].first) +
                    std::abs(box[2].second - box[0].second)) /
                   2;
        };
        return std::abs(middle(one) - middle(other)) > reach(one) + reach(other);
    };
    using Corner = Box::value_type;
    return !far(&Corner::first) && !far(&Corner::second) && !parted(one, other) &&
           !parted(other, one);
}

void give_axes_room(Chart& chart, double width, double height) {
    for (const Panel& panel : chart.panels) {
        double shares = 0;
        for (std::size_t i = 0; i < std::min(columns_of(chart), chart.panels.size()); ++i) {
            shares += chart.panels[i].width;
        }
        chart.width = std::max(
            chart.width, (panel.left_margin + width + panel.right_margin) * shares / panel.width);
    }
    for (std::size_t i = 0; i < chart.panels.size(); ++i) {
        const auto [from, to] = sides_of(chart, i);
        const Rims rims = rims_of(chart, i, to - from);
        // gnuplot gives a legend that is higher than the axes more columns than it has room for.
        chart.panels[i].height = rims.above + std::max(height, rims.legend_height) + rims.below;
    }
    chart.height = heading(chart);
    for (std::size_t i = 0; i < chart.panels.size(); i += columns_of(chart)) {
        chart.height += height_of(chart, row_of(chart, i));
    }
}

Place place_of(const Chart& chart, std::size_t index) {
    const Panel& panel = chart.panels[index];
    const auto [from, to] = sides_of(chart, index);
    const auto [top, bottom] = ends_of(chart, row_of(chart, index));
    const Rims rims = rims_of(chart, index, to - from);
    Place place{};
    place.entries = rims.legend;
    place.left = (from + panel.left_margin) / chart.width;
    place.right = (to - panel.right_margin) / chart.width;
    place.bottom = 1 - (bottom - rims.below) / chart.height;
    place.top = 1 - (top + rims.above) / chart.height;
    place.width = (place.right - place.left) * chart.width;
    place.height = (place.top - place.bottom) * chart.height;
    place.middle = (from + to) / 2 / chart.width;
    const double axes_middle = (place.left + place.right) / 2 * chart.width;
    place.title_shift = title_shift(panel.title, axes_middle, from, to) / chart.width;
    constexpr double margin = 5;
    const double legend = panel.legend_above ? top + rims.above : bottom;
    place.legend = 1 - (legend - margin) / chart.height;
    // Its title stands above a legend that stands above the axes.
    place.title_rise = panel.legend_above ? (rims.legend_height + 8) / chart.height : 0;
    return place;
}

double angle_of(const Panel& panel, const Place& place, const ChartText& text) {
    const auto [x, y] = text.towards.value_or(std::pair{text.x, text.y});
    const double across = (share_of(panel.x, x) - share_of(panel.x, text.x)) * place.width;
    const double up = (share_of(panel.y, y) - share_of(panel.y, text.y)) * place.height;
    return std::atan2(up, across) * degrees;
}

}  // namespace raceline

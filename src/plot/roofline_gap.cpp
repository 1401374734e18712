// SPDX-License-Identifier: Apache-2.0
#include "plot/roofline_gap.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr double bar_width = 3;  // of short bars, and of no other line

// By how many pixels words have to move to the right to stand between the ends of the x axis.
double inwards(const Panel& panel, const Place& place, const ChartText& words) {
    const Box box = box_of(panel, place, words);
    const double left = box[0].first;
    const double right = box[1].first;
    constexpr double off = 2;  // from the frame
    return left < off ? off - left : std::min(0.0, place.width - off - right);
}

// How far words may be moved, in pixels to the right and up: the nearest places first.
std::vector<std::pair<double, double>> moves_of(const ChartText& words) {
    const double half = static_cast<double>(letters(words.text)) * letter_width / 2 + 4;
    constexpr int farthest = 2000;
    std::vector<std::pair<double, double>> moves;
    for (int up = 0; up < farthest; up += 3) {
        for (const double right : {0.0, half, -half, 2 * half, -2 * half}) {
            moves.emplace_back(right, up);
        }
    }
    std::ranges::sort(moves, {}, [](const auto& move) {
        return std::pair(std::hypot(move.first, move.second), -move.first);
    });
    return moves;
}

// Moves words to the nearest place above or beside theirs where neither others nor marks stand,
// between the ends of the x axis; on a roof only where there is no place beside it nearby.
void move_to_free_place(const Panel& panel, const Place& place, ChartText& words) {
    std::vector<Box> others = boxes_of_words(panel, place);
    for (const Box& mark : boxes_of_marks(panel, place)) {
        others.push_back(mark);
    }
    for (const Series& series : panel.series) {
        if (series.width == bar_width) {
            constexpr double half = 4;  // with room around it
            others.push_back(box_of_line(panel, place, series, half));
        }
    }
    const std::vector<Box> roofs = boxes_of_roofs(panel, place);
    const auto stands_on = [&](const ChartText& at, const std::vector<Box>& all) {
        const Box box = box_of(panel, place, at);
        return std::ranges::any_of(all, [&](const Box& other) { return overlap(box, other); });
    };
    const double pixel_up = std::pow(panel.y.high / panel.y.low, 1 / place.height);
    const double pixel_right = std::pow(panel.x.high / panel.x.low, 1 / place.width);
    constexpr double nearby = 4 * line_height;
    std::optional<ChartText> on_roof;
    for (const auto& [right, up] : moves_of(words)) {
        ChartText moved = words;
        moved.x *= std::pow(pixel_right, right);
        moved.x *= std::pow(pixel_right, inwards(panel, place, moved));
        moved.y *= std::pow(pixel_up, up);
        if (stands_on(moved, others)) {
            continue;
        }
        const bool off_roofs = !stands_on(moved, roofs);
        if (off_roofs || (on_roof && std::hypot(right, up) > nearby)) {
            words = off_roofs ? moved : *on_roof;
            return;
        }
        on_roof = on_roof ? on_roof : moved;
    }
}

// Whether the roof that holds the point is one of those that are drawn, and passes there.
bool is_drawn(const RooflinePoint& point, const Roofs& roofs) {
    if (!point.bound.empty()) {
        return false;
    }
    constexpr double near = 0.03;  // lines closer than this touch
    const auto passes = [&](double rate) { return std::abs(rate / point.limit - 1) < near; };
    const bool on_engine = std::ranges::any_of(roofs.engines, [&](const Roof& roof) {
        return roof.resource == point.limiter && passes(roof.rate);
    });
    // Diagonals end on the fastest engine.
    const bool below_engines = !roofs.engines.empty() && point.limit < roofs.engines.back().rate;
    return on_engine || (below_engines && std::ranges::any_of(roofs.memory, [&](const Roof& roof) {
                             return roof.resource == "byte.dram_read" && point.limiter == "dram" &&
                                    passes(roof.rate * point.intensity);
                         }));
}

bool slopes(const RooflinePoint& point) {
    const bool memory = point.limiter == "dram" || point.limiter.starts_with("byte.");
    return memory && point.bound.empty();
}

// Whether the line ends on the roof of another resource than the limiter, which is nearer.
bool is_nearest(const RooflinePoint& point) {
    return point.by_resource && point.bound.empty() && point.limiter != point.predicted_limiter;
}

// What the dotted line ends on, and whatever else a reader has to know to believe the speed-up:
// whose rate a bound has, how far its limiter's own roof is where another is nearer, and a limiter
// that has no roof or whose roof is higher than what no program passes.
std::string gap_title(const RooflinePoint& point, bool drawn) {
    const std::string end = point.bound.empty() ? point.limiter
                            : point.bound == "launch"
                                ? "the floor of the launch"
                                : "the bound by " + point.bound +
                                      (point.bound_of_datasheet ? " at its datasheet's rate" : "");
    std::string title =
        fmt::format("{}× left to {}{}", format_fixed(point.limit / point.measured, 2), end,
                    drawn ? "" : " (short bar)");
    // A datasheet's rate is no roof of the chart: the gap to the limiter's, which is, stands
    // beside.
    if (point.bound_of_datasheet && point.limiter_limit > 0) {
        return title + fmt::format(", {}× to the roof of its limiter {}",
                                   format_fixed(point.limiter_limit / point.measured, 2),
                                   point.predicted_limiter);
    }
    const std::string& named = point.bound.empty() ? point.limiter : point.bound;
    if (point.by_resource && named == point.predicted_limiter) {
        return title;
    }
    return is_nearest(point)
               ? title + fmt::format(", {}× to its limiter {}",
                                     format_fixed(point.limiter_limit / point.measured, 2),
                                     point.predicted_limiter)
               : title + "; limited by " + point.predicted_limiter;
}

}  // namespace

std::string gaps_key(const std::vector<RooflineGroups>& panels) {
    bool any = false;
    bool no_roof = false;
    bool bounded = false;
    bool nearest = false;
    for (const RooflineGroups& groups : panels) {
        for (const auto& [group, point] : widest_gaps(groups)) {
            any = true;
            no_roof |= !point->by_resource && point->bound.empty();
            bounded |= !point->bound.empty();
            nearest |= is_nearest(*point);
        }
    }
    if (!any) {
        return "";
    }
    return std::string(" Dotted: the widest gap of each kernel to ") +
           (no_roof || bounded || nearest ? "what the legend names: " : "") +
           "the roof of its limiter" + (nearest ? ", or of another resource that is nearer" : "") +
           (no_roof ? ", or of its busiest resource where the limiter (latency, a launch, the tail "
                      "of the last wave) has none"
                    : "") +
           (bounded ? ", or what no program passes where that is lower" : "") + ".";
}

ChartText add_gap(Panel& panel, const RooflinePoint& point, const Roofs& roofs, Colour colour,
                  double shift, const Place& place) {
    const double left = point.limit / point.measured;
    const bool slanted = slopes(point);
    const double x = point.intensity * shift;
    const double y = slanted ? point.limit * shift : point.limit;
    const bool drawn = is_drawn(point, roofs);
    panel.series.push_back({.title = gap_title(point, drawn),
                            .colour = colour,
                            .line = Line::dotted,
                            .width = 2,
                            .over_marks = true,
                            .points = {{x, point.measured}, {x, y}}});
    if (!drawn) {
        const double wide = std::pow(panel.x.high / panel.x.low, 0.008);
        const double rise = slanted ? wide : 1;
        panel.series.push_back({.title = {},
                                .colour = colour,
                                .line = Line::solid,
                                .width = bar_width,
                                .points = {{x / wide, y / rise}, {x * wide, y * rise}}});
    }
    // Half a line above the end of the dotted one, and above its bar.
    const double above = (drawn ? 0.6 : 0.9) * line_share(place);
    return {.x = x,
            .y = y * std::pow(panel.y.high / panel.y.low, above),
            .text = format_fixed(left, 2) + "×" + (point.bound_of_datasheet ? " (datasheet)" : ""),
            .colour = colour,
            .align = Align::centre,
            .backed = true,
            .led_from = std::pair(x, y)};
}

void add_gap_words(Panel& panel, ChartText words, const Place& place) {
    move_to_free_place(panel, place, words);
    panel.texts.push_back(std::move(words));
}

double room_for_gaps(const Panel& panel, const Place& place) {
    const double half = std::pow(panel.y.high / panel.y.low, line_share(place) / 2);
    double room = 1;
    for (const ChartText& text : panel.texts) {
        if (text.align == Align::centre) {
            room = std::max(room, text.y * half / panel.y.high);
        } else if (text.towards) {
            double top = 0;
            for (const auto& [x, y] : box_of(panel, place, text)) {
                top = std::max(top, y / place.height);
            }
            room = std::max(room, std::pow(panel.y.high / panel.y.low, top - 1));
        }
    }
    return room;
}

}  // namespace raceline

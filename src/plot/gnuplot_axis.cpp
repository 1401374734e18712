// SPDX-License-Identifier: Apache-2.0
#include "plot/gnuplot_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "plot/placement.hpp"
#include "support/one_line.hpp"

namespace raceline {
namespace {

std::string_view number_form(Scale scale) {
    switch (scale) {
        case Scale::seconds: return "%.0s %cs";
        case Scale::flops_per_second: return "%.0s %cFLOP/s";
        case Scale::percent: return "%.0f %%";
        case Scale::ratio: return "%g×";
        default: return "%g";
    }
}

// The least of 1, 2 and 5 in any decade that is not below a step: multiples of others are crooked
// numbers, and pass 1 by.
double round_step(double step) {
    const double decade = std::pow(10, std::floor(std::log10(step)));
    for (const double whole : {1.0, 2.0, 5.0}) {
        if (step <= whole * decade) {
            return whole * decade;
        }
    }
    return 10 * decade;
}

// "20 µs", "1.5 ms": as short as can be.
std::string time_name(double seconds) {
    constexpr std::array<std::pair<double, std::string_view>, 5> units{
        {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}, {1e-12, "ps"}}};
    const auto* unit =
        std::ranges::find_if(units, [&](const auto& one) { return seconds >= one.first * 0.9999; });
    unit = unit == units.end() ? units.end() - 1 : unit;
    return fmt::format("{:.4g} {}", seconds / unit->first, unit->second);
}

// As number_form() and place_text() have it drawn.
std::string tick_name(const Axis& axis, double at) {
    return axis.scale == Scale::seconds            ? time_name(at)
           : axis.scale == Scale::ratio            ? fmt::format("{:g}×", at)
           : axis.scale == Scale::percent          ? fmt::format("{:.0f} %", at)
           : axis.scale == Scale::flops_per_second ? "500 TFLOP/s"
                                                   : fmt::format("{:g}", at);
}

std::string place_text(const Axis& axis, double at) {
    return axis.scale == Scale::seconds
               ? fmt::format("{} {:.10g}", single_quoted(time_name(at)), at)
               : fmt::format("{:.10g}", at);
}

// How far a number is from a round one: those that stay where not all have room.
int roundness(double at) {
    const double digit = at / std::pow(10, std::floor(std::log10(at) + 1e-9));
    const auto is = [&](double other) { return std::abs(digit - other) < 1e-6; };
    return std::abs(at - 1) < 1e-9    ? 0
           : is(1)                    ? 1
           : is(2) || is(5)           ? 2
           : is(3) || is(1.5)         ? 3
           : std::fmod(digit, 1) == 0 ? 4
                                      : 5;
}

// The first and the last cell of a name over its place.
std::pair<double, double> cells_of(const Axis& axis, double at, int columns) {
    const double half = static_cast<double>(letters(tick_name(axis, at))) / 2;
    const double middle = share_of(axis, at) * columns;
    return {middle - half, middle + half};
}

// Of places those whose names have a cell between them on an axis of so many cells, the roundest
// first.
std::vector<double> apart(const Axis& axis, std::vector<double> places, int columns) {
    std::ranges::sort(places, {}, [](double at) { return std::pair(roundness(at), at); });
    std::vector<double> some;
    for (const double at : places) {
        const auto [begin, end] = cells_of(axis, at, columns);
        const bool free = std::ranges::none_of(some, [&](double other) {
            const auto [first, last] = cells_of(axis, other, columns);
            return begin < last + 1 && first < end + 1;
        });
        if (free) {
            some.push_back(at);
        }
    }
    std::ranges::sort(some);
    return some;
}

// One by one: a step on a logarithmic axis is a factor. In a terminal as many as have room.
std::vector<double> even_places(const Axis& axis, int columns) {
    std::vector<double> places;
    for (const double steps : {6.0, 4.0, 3.0, 2.0, 1.0}) {
        const double step = round_step((axis.high - axis.low) / steps);
        places.clear();
        for (double at = std::ceil(axis.low / step) * step; at <= axis.high; at += step) {
            places.push_back(at);
        }
        if (columns == 0 || apart(axis, places, columns).size() == places.size()) {
            break;
        }
    }
    return places;
}

std::vector<double> places_by_decade(const Axis& axis) {
    const bool few = axis.high / axis.low > 8;
    const bool many = axis.high / axis.low < 3;
    std::vector<double> places;
    for (double decade = std::pow(10, std::floor(std::log10(axis.low))); decade < axis.high;
         decade *= 10) {
        for (const double step : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}) {
            const bool fine = step == 1.2 || step == 2.5 || step == 4.0 || step == 6.0 ||
                              step == 8.0 || step == 9.0;
            const bool shown = few ? step == 1.0 || step == 2.0 || step == 5.0 : many || !fine;
            if (const double at = step * decade; shown && at >= axis.low && at <= axis.high) {
                places.push_back(at);
            }
        }
    }
    return places;
}

// A logarithmic axis over less than two decades needs more ticks than powers of ten. `columns`: the
// cells of an x axis in a terminal, where names must not run into each other; 0 elsewhere.
std::string ticks_of(const Axis& axis, char name, int columns) {
    if (!axis.ticks.empty()) {
        std::string text =
            fmt::format("set {}tics {}(", name, axis.upright ? "rotate by 45 right " : "norotate ");
        for (const auto& [at, label] : axis.ticks) {
            text += fmt::format("{} {:.10g},", single_quoted(label), at);
        }
        text.back() = ')';
        return text + "\n";
    }
    if (!axis.logarithmic || axis.high / axis.low >= 100) {
        return fmt::format("set {}tics autofreq\n", name);
    }
    std::vector<double> places = axis.high / axis.low < 1.8   ? even_places(axis, columns)
                                 : axis.scale == Scale::ratio ? ratio_places(axis.low, axis.high)
                                                              : places_by_decade(axis);
    if (columns > 0) {
        places = apart(axis, std::move(places), columns);
    }
    std::string text;
    for (const double at : places) {
        text += (text.empty() ? "" : ", ") + place_text(axis, at);
    }
    return text.empty() ? fmt::format("set {}tics autofreq\n", name)
                        : fmt::format("set {}tics ({})\n", name, text);
}

}  // namespace

// A quote is written twice.
std::string single_quoted(std::string_view text) {
    std::string inside;
    for (const char c : one_line(text)) {
        inside += c == '\'' ? "''" : std::string(1, c);
    }
    return "'" + inside + "'";
}

std::string axis_text(const Axis& axis, char name, int columns) {
    return fmt::format(
        "{}set logscale {}\nset {}range [{:.10g}:{:.10g}]\nset format {} '{}'\n{}"
        "set {}label {}\n",
        axis.logarithmic ? "" : "un", name, name, axis.low, axis.high, name,
        number_form(axis.scale), ticks_of(axis, name, columns), name, single_quoted(axis.title));
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <ranges>
#include <set>

#include "plot/charts.hpp"
#include "plot/roofs.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

struct RooflinePoint {
    double intensity = 0;                           // flop per byte of DRAM
    double predicted = 0, measured = 0, limit = 0;  // flop/s; 0: not known
    std::string limiter;
};

RooflinePoint point_of(const TimedCase& one) {
    const double flops = one.workload.flops();
    RooflinePoint point;
    point.intensity = flops / (one.workload.bytes_read() + one.workload.bytes_written());
    point.measured = flops / one.measured.seconds_median;
    if (one.predicted) {
        const Roofline& roof = one.predicted->layer1;
        point.intensity =
            roof.arithmetic_intensity > 0 ? roof.arithmetic_intensity : point.intensity;
        point.predicted = flops / one.predicted->seconds;
        point.limit = roof.bound_seconds > 0 ? flops / roof.bound_seconds : 0;
        point.limiter = roof.limiter;
    }
    return point;
}

struct Group {
    std::string device, commit, kernel;
    auto operator<=>(const Group&) const = default;
};
using Groups = std::map<Group, std::vector<RooflinePoint>>;

Groups groups_of(const TimedRows& rows) {
    Groups groups;
    for (const TimedCase& one : rows.cases) {
        const RooflinePoint point = point_of(one);
        if (point.intensity > 0 && point.measured > 0 && std::isfinite(point.measured)) {
            groups[{one.device, one.commit, one.kernel}].push_back(point);
        }
    }
    return groups;
}

// Short names where a chart has several devices: A, B and so on.
using Letters = std::map<std::string, std::string>;

Letters letters_of(const std::map<std::string, DeviceName>& devices) {
    Letters letters;
    char next = 'A';
    for (const auto& [label, name] : devices) {
        letters[label] = devices.size() == 1 ? std::string() : std::string(1, next);
        next = next == 'Z' ? 'A' : static_cast<char>(next + 1);
    }
    return letters;
}

std::string letters_note(const Letters& letters) {
    std::string text;
    for (const auto& [label, letter] : letters) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", letter, label);
    }
    return text;
}

// Only what tells groups of this chart apart.
std::string group_title(const Group& group, const Groups& all, const Letters& letters) {
    std::set<std::string> commits;
    for (const auto& [other, points] : all) {
        commits.insert(other.commit);
    }
    const std::string& letter = letters.at(group.device);
    return group.kernel + (letter.empty() ? "" : " on " + letter) +
           (commits.size() > 1 ? " at " + group.commit.substr(0, 8) : "");
}

void add_points(Panel& panel, const std::string& title, const std::vector<RooflinePoint>& points,
                Colour colour, Mark mark) {
    Series join{.title = {}, .colour = colour, .line = Line::solid, .width = 0.8, .points = {}};
    Series predicted{.title = {}, .colour = colour, .mark = mark, .filled = false, .points = {}};
    Series measured{.title = title, .colour = colour, .mark = mark, .points = {}};
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (const RooflinePoint& point : points) {
        measured.points.push_back({point.intensity, point.measured});
        if (point.predicted > 0) {
            predicted.points.push_back({point.intensity, point.predicted});
            join.points.push_back({point.intensity, point.predicted});
            join.points.push_back({point.intensity, point.measured});
            join.points.push_back({none, none});
        }
    }
    panel.series.push_back(std::move(join));
    panel.series.push_back(std::move(predicted));
    panel.series.push_back(std::move(measured));
}

// The point of a group whose limiter leaves most.
const RooflinePoint* widest_gap(const std::vector<RooflinePoint>& points) {
    const RooflinePoint* widest = nullptr;
    for (const RooflinePoint& point : points) {
        if (point.limit > 0 && (widest == nullptr ||
                                point.limit / point.measured > widest->limit / widest->measured)) {
            widest = &point;
        }
    }
    return widest;
}

// Upwards from y until no other text stands there.
double free_height(const Panel& panel, double x, double y) {
    const double across = std::log(panel.x.high / panel.x.low);
    const double up = std::log(panel.y.high / panel.y.low);
    const auto taken = [&](const ChartText& text) {
        return std::abs(std::log(text.x / x)) < 0.07 * across &&
               std::abs(std::log(text.y / y)) < 0.032 * up;
    };
    while (std::ranges::any_of(panel.texts, taken)) {
        y *= std::exp(0.01 * up);
    }
    return y;
}

// A dotted line from the measured point to the roof of its limiter, with the speed-up that is left
// above it. Which limiter that is stands in the legend, where no words cover points.
void add_gap(Panel& panel, const RooflinePoint& point, Colour colour) {
    const double left = point.limit / point.measured;
    panel.series.push_back(
        {.title = fmt::format("{:.2f}× left to {}", left, point.limiter),
         .colour = colour,
         .line = Line::dotted,
         .width = 2,
         .points = {{point.intensity, point.measured}, {point.intensity, point.limit}}});
    panel.texts.push_back(
        {.x = point.intensity,
         .y = free_height(panel, point.intensity,
                          point.limit * std::pow(panel.y.high / panel.y.low, 0.02)),
         .text = fmt::format("{:.2f}×", left),
         .colour = colour,
         .align = Align::centre});
}

std::string engine_name(const Roof& roof) {
    return fmt::format("{} {}{}", roof.name, format_si(roof.rate, "FLOP/s"),
                       roof.measured ? "" : " (datasheet)");
}

// Heights of names beside roofs of these rates, the lowest first: apart from each other and within
// the panel.
std::vector<double> heights_of(const Panel& panel, const std::vector<Roof>& engines) {
    const double apart = std::pow(panel.y.high / panel.y.low, 0.034);
    std::vector<double> heights;
    for (const Roof& roof : engines) {
        heights.push_back(heights.empty() ? roof.rate
                                          : std::max(roof.rate, heights.back() * apart));
    }
    double most = panel.y.high;
    for (double& height : std::views::reverse(heights)) {
        height = std::min(height, most);
        most = height / apart;
    }
    return heights;
}

// Right of the axes, each beside its roof.
void add_engine_names(Panel& panel, const std::vector<Roof>& engines) {
    const std::vector<double> heights = heights_of(panel, engines);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        const std::string name = engine_name(engines[i]);
        longest = std::max(longest, name.size());
        panel.texts.push_back({.x = panel.x.high * 1.03,
                               .y = heights[i],
                               .text = name,
                               .colour = Colour::black,
                               .align = Align::left});
    }
    panel.right_margin = 24 + 7.2 * static_cast<double>(longest);
}

void add_roofs(Panel& panel, const Roofs& roofs, Line line, const std::string& title) {
    if (roofs.memory.empty() || roofs.engines.empty()) {
        return;
    }
    const double top = roofs.engines.back().rate;
    bool first = true;
    for (const Roof& roof : roofs.memory) {
        const double ridge = top / roof.rate;
        panel.series.push_back({.title = first ? title : "",
                                .colour = Colour::grey,
                                .line = line,
                                .width = 1.4,
                                .points = {{panel.x.low, panel.x.low * roof.rate}, {ridge, top}}});
        first = false;
    }
    const double slowest = roofs.memory.front().rate;
    for (const Roof& roof : roofs.engines) {
        panel.series.push_back(
            {.title = {},
             .colour = Colour::grey,
             .line = line,
             .width = 1.4,
             .points = {{std::max(panel.x.low, roof.rate / roofs.memory.back().rate), roof.rate},
                        {std::max(panel.x.high, roof.rate / slowest), roof.rate}}});
    }
}

// Along each diagonal, from where it enters the panel.
void add_memory_names(Panel& panel, const Roofs& roofs, const std::string& device) {
    for (const Roof& roof : roofs.memory) {
        const double x = std::max(panel.x.low, panel.y.low / roof.rate) * 1.15;
        panel.texts.push_back(
            {.x = x,
             .y = x * roof.rate,
             .text = fmt::format("{}{} {}", device, roof.name, format_si(roof.rate, "B/s")),
             .colour = Colour::black,
             .align = Align::left,
             .towards = {{2 * x, 2 * x * roof.rate}}});
    }
}

void fit_axes(Panel& panel, const Groups& groups, const std::vector<Roofs>& all) {
    std::vector<double> x;
    std::vector<double> y;
    for (const auto& [group, points] : groups) {
        for (const RooflinePoint& point : points) {
            x.push_back(point.intensity);
            y.push_back(point.measured);
            y.push_back(point.predicted);
            y.push_back(point.limit);
        }
    }
    for (const Roofs& roofs : all) {
        if (!roofs.memory.empty() && !roofs.engines.empty()) {
            x.push_back(roofs.engines.back().rate / roofs.memory.front().rate);
            x.push_back(roofs.engines.back().rate / roofs.memory.back().rate / 3);
            y.push_back(roofs.engines.back().rate);
            y.push_back(roofs.engines.front().rate / 2);
        }
    }
    fit(panel.x, x, 0.12);
    fit(panel.y, y);
}

// By label. Ceilings without a case are drawn alone.
std::map<std::string, DeviceName> devices_of(const TimedRows& rows) {
    std::map<std::string, DeviceName> found;
    for (const TimedCase& one : rows.cases) {
        found.emplace(one.device, one.about.device);
    }
    if (found.empty()) {
        for (const auto& [device, ceilings] : rows.ceilings) {
            found.emplace(device, DeviceName{.id = device, .name = device, .driver = {}});
        }
    }
    return found;
}

std::string devices_text(const std::map<std::string, DeviceName>& devices) {
    std::string text;
    for (const auto& [label, device] : devices) {
        text += (text.empty() ? "" : ", ") + device.name;
    }
    return text;
}

// What a chart lacks of a device.
std::string missing_roofs(const Roofs& roofs) {
    if (roofs.engines.empty() || roofs.memory.empty()) {
        return fmt::format(
            "{}: its ceilings are not known, so it has no roofs; name a file of its ceilings",
            roofs.device);
    }
    return std::ranges::all_of(roofs.engines, &Roof::measured)
               ? ""
               : fmt::format("{}: its ceilings were not measured; roofs are the datasheet's",
                             roofs.device);
}

void add_groups(Panel& panel, const Groups& groups, const Letters& letters) {
    std::map<std::pair<std::string, std::string>, std::size_t> marks;  // by device and commit
    std::size_t i = 0;
    for (const auto& [group, points] : groups) {
        const std::size_t mark =
            marks.try_emplace({group.device, group.commit}, marks.size()).first->second;
        const Colour colour = nth_colour(i++);
        add_points(panel, group_title(group, groups, letters), points, colour, nth_mark(mark));
        if (const RooflinePoint* widest = widest_gap(points)) {
            add_gap(panel, *widest, colour);
        }
    }
}

}  // namespace

Chart roofline_chart(const TimedRows& rows) {
    const std::map<std::string, DeviceName> devices = devices_of(rows);
    const Groups groups = groups_of(rows);
    const Letters letters = letters_of(devices);
    Panel panel;
    panel.x = {
        .title = "arithmetic intensity, FLOP per byte of DRAM", .logarithmic = true, .ticks = {}};
    panel.y = {.title = "", .scale = Scale::flops_per_second, .logarithmic = true, .ticks = {}};
    panel.left_margin = 96;
    std::vector<Roofs> all;
    for (const auto& [label, name] : devices) {
        all.push_back(roofs_of(label, name, rows));
    }
    fit_axes(panel, groups, all);
    Chart chart{.title = "Roofline: " + devices_text(devices), .notes = rows.notes, .panels = {}};
    constexpr std::array lines{Line::solid, Line::dashed, Line::dotted};
    std::vector<Roof> engines;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string& letter = letters.at(all[i].device);
        const std::string of = letter.empty() ? "" : letter + " ";
        add_roofs(panel, all[i], lines.at(i % lines.size()), of.empty() ? "" : of + "roofs");
        add_memory_names(panel, all[i], of);
        for (Roof roof : all[i].engines) {
            roof.name = of + roof.name;
            engines.push_back(roof);
        }
        if (const std::string missing = missing_roofs(all[i]); !missing.empty()) {
            chart.notes.push_back(missing);
        }
    }
    if (devices.size() > 1) {
        chart.notes.insert(chart.notes.begin(), letters_note(letters));
    }
    std::ranges::sort(engines, {}, &Roof::rate);
    add_engine_names(panel, engines);
    add_groups(panel, groups, letters);
    chart.notes.insert(chart.notes.begin(),
                       groups.empty() ? "No measured case in these receipts."
                                      : "Hollow: predicted before the run; filled: measured. "
                                        "Dotted: the widest gap of each kernel to the roof of "
                                        "its limiter.");
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline

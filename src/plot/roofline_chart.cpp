// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "plot/charts.hpp"
#include "plot/roof_lines.hpp"
#include "plot/roofline_gap.hpp"
#include "plot/roofline_points.hpp"
#include "plot/roofs.hpp"

namespace raceline {
namespace {

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
std::string group_title(const RooflineGroup& group, const RooflineGroups& all,
                        const Letters& letters) {
    std::set<std::string> commits;
    for (const auto& [other, points] : all) {
        commits.insert(other.commit);
    }
    const std::string& letter = letters.at(group.device);
    return group.kernel + (letter.empty() ? "" : " on " + letter) +
           (commits.size() > 1 ? " at " + group.commit.substr(0, 8) : "");
}

// How far right of its place a point is drawn, as a factor: where one case was measured at several
// commits, no mark hides another. A mark is as wide as half a line of words is high.
double shift_of(const Panel& panel, const RooflinePoint& point, double line) {
    return std::pow(panel.x.high / panel.x.low, 0.47 * line * static_cast<double>(point.before));
}

bool has_shifts(const RooflineGroups& groups) {
    return std::ranges::any_of(groups, [](const auto& group) {
        return std::ranges::any_of(group.second,
                                   [](const auto& point) { return point.before > 0; });
    });
}

void add_points(Panel& panel, const std::string& title, const std::vector<RooflinePoint>& points,
                Colour colour, Mark mark, double line) {
    Series join{.title = {}, .colour = colour, .line = Line::solid, .width = 0.8, .points = {}};
    Series predicted{.title = {}, .colour = colour, .mark = mark, .filled = false, .points = {}};
    Series measured{.title = title, .colour = colour, .mark = mark, .points = {}};
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (const RooflinePoint& point : points) {
        const double x = point.intensity * shift_of(panel, point, line);
        measured.points.push_back({x, point.measured});
        if (point.predicted > 0) {
            predicted.points.push_back({x, point.predicted});
            join.points.push_back({x, point.predicted});
            join.points.push_back({x, point.measured});
            join.points.push_back({none, none});
        }
    }
    panel.series.push_back(std::move(join));
    panel.series.push_back(std::move(predicted));
    panel.series.push_back(std::move(measured));
}

void fit_axes(Panel& panel, const RooflineGroups& groups, const std::vector<Roofs>& all) {
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
        add_roof_extent(roofs, x, y);
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

void add_groups(Panel& panel, const RooflineGroups& groups, const std::vector<Roofs>& all,
                const Letters& letters, double line) {
    std::map<std::pair<std::string, std::string>, std::size_t> marks;  // by device and commit
    const auto gaps = widest_gaps(groups);
    std::size_t i = 0;
    for (const auto& [group, points] : groups) {
        const std::size_t mark =
            marks.try_emplace({group.device, group.commit}, marks.size()).first->second;
        const Colour colour = nth_colour(i++);
        add_points(panel, group_title(group, groups, letters), points, colour, nth_mark(mark),
                   line);
        if (const auto gap = gaps.find(group); gap != gaps.end()) {
            add_gap(panel, *gap->second, *std::ranges::find(all, group.device, &Roofs::device),
                    colour, shift_of(panel, *gap->second, line), line);
        }
    }
}

// More kernels than this on one panel cannot be told apart.
constexpr std::size_t most_groups = 6;

Panel empty_panel(const RooflineGroups& groups, const std::vector<Roofs>& all) {
    Panel panel;
    panel.x = {
        .title = "arithmetic intensity, FLOP per byte of DRAM", .logarithmic = true, .ticks = {}};
    panel.y = {.title = "", .scale = Scale::flops_per_second, .logarithmic = true, .ticks = {}};
    panel.left_margin = 96;
    fit_axes(panel, groups, all);
    return panel;
}

// Draws a panel again with a higher end of its y axis, until all words stand on it. Where there are
// more of them than lines of the panel that never ends: the last one is taken.
template <class Draw>
Panel with_room(const Draw& draw, double line) {
    constexpr int most_times = 8;
    double room = 1;
    Panel panel = draw(room);
    for (int i = 0; i < most_times && room_for_gaps(panel, line) > 1; ++i) {
        room *= room_for_gaps(panel, line);
        panel = draw(room);
    }
    return panel;
}

// The height of a line of words, as a share of the y axis: on a chart of one panel, and of many.
constexpr double line_alone = 0.034, line_of_many = 0.065;

// The roofs that points of these groups can reach: all levels of memory, and the engines in use.
Roofs roofs_for(const RooflineGroups& groups, const Roofs& all) {
    std::set<std::string> asked;
    for (const auto& [group, points] : groups) {
        for (const RooflinePoint& point : points) {
            asked.insert(point.asked.begin(), point.asked.end());
        }
    }
    Roofs used = all;
    std::erase_if(used.engines, [&](const Roof& roof) { return !asked.contains(roof.resource); });
    return used.engines.empty() ? all : used;
}

// All groups on one panel.
Panel one_panel(const RooflineGroups& groups, const std::vector<Roofs>& all, const Letters& letters,
                double room) {
    std::vector<Roofs> shown = all;
    for (Roofs& roofs : shown) {
        RooflineGroups its = groups;
        std::erase_if(its, [&](const auto& one) { return one.first.device != roofs.device; });
        roofs = all.size() > 1 ? roofs_for(its, roofs) : roofs;
    }
    Panel panel = empty_panel(groups, shown);
    panel.y.high *= room;
    // The names of each further device's memory stand further on along roofs that are close.
    const double further = std::pow(4, static_cast<double>(shown.size()) - 1);
    panel.x.low /= further;
    panel.y.low /= further;
    constexpr std::array lines{Line::solid, Line::dashed, Line::dotted};
    std::vector<Roof> engines;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::string& letter = letters.at(shown[i].device);
        const std::string of = letter.empty() ? "" : letter + " ";
        add_roofs(panel, shown[i], lines.at(i % lines.size()), of.empty() ? "" : of + "roofs");
        add_memory_names(panel, shown[i], of, i);
        for (Roof roof : shown[i].engines) {
            roof.name = of + roof.name;
            engines.push_back(roof);
        }
    }
    std::ranges::sort(engines, {}, &Roof::rate);
    add_engine_names(panel, engines, line_alone);
    add_groups(panel, groups, shown, letters, line_alone);
    return panel;
}

// A kernel on one device, its commits apart.
Panel kernel_panel(const std::string& title, const RooflineGroups& its, const Roofs& roofs,
                   double room) {
    Panel panel = empty_panel(its, {roofs});
    panel.y.high *= room;
    panel.title = title;
    add_roofs(panel, roofs, Line::solid, "");
    add_memory_names(panel, roofs, "", 0);
    add_engine_names(panel, roofs.engines, line_of_many);
    const auto gaps = widest_gaps(its);
    std::size_t i = 0;
    for (const auto& [group, points] : its) {
        const Colour colour = nth_colour(i);
        add_points(panel, its.size() > 1 ? "at " + group.commit.substr(0, 8) : "measured", points,
                   colour, nth_mark(i), line_of_many);
        if (const auto gap = gaps.find(group); gap != gaps.end()) {
            add_gap(panel, *gap->second, roofs, colour, shift_of(panel, *gap->second, line_of_many),
                    line_of_many);
        }
        ++i;
    }
    return panel;
}

// A panel for each kernel on a device. Each has axes of its own: on shared ones the points of most
// kernels, and the levels of memory, would lie on each other.
std::vector<Panel> panels_by_kernel(const RooflineGroups& groups, const std::vector<Roofs>& all) {
    std::map<std::pair<std::string, std::string>, RooflineGroups> kernels;  // by device and kernel
    for (const auto& [group, points] : groups) {
        kernels[{group.device, group.kernel}][group] = points;
    }
    std::vector<Panel> panels;
    for (const auto& [of, its] : kernels) {
        const auto& [device, kernel] = of;
        const Roofs roofs = roofs_for(its, *std::ranges::find(all, device, &Roofs::device));
        const std::string title = kernel + (all.size() > 1 ? " on " + device : "");
        panels.push_back(with_room(
            [&, &commits = its](double room) { return kernel_panel(title, commits, roofs, room); },
            line_of_many));
    }
    // One width of the axes in all panels.
    double margin = 0;
    for (const Panel& panel : panels) {
        margin = std::max(margin, panel.right_margin);
    }
    for (Panel& panel : panels) {
        panel.right_margin = margin;
    }
    return panels;
}

}  // namespace

Chart roofline_chart(const TimedRows& rows) {
    const std::map<std::string, DeviceName> devices = devices_of(rows);
    const RooflineGroups groups = roofline_groups(rows);
    const Letters letters = letters_of(devices);
    std::vector<Roofs> all;
    all.reserve(devices.size());
    for (const auto& [label, name] : devices) {
        all.push_back(roofs_of(label, name, rows));
    }
    Chart chart{.title = "Roofline: " + devices_text(devices), .notes = {}, .panels = {}};
    chart.notes.push_back(groups.empty() ? "No measured case in these receipts."
                                         : "Hollow: predicted before the run; filled: measured. "
                                           "Dotted: the widest gap of each kernel to the roof of "
                                           "its limiter.");
    if (has_shifts(groups)) {
        chart.notes.push_back(
            "A case that a kernel has at several commits has a mark for each: the "
            "first in its place, others right of it.");
    }
    const bool apart = groups.size() > most_groups;
    if (devices.size() > 1 && !apart) {
        chart.notes.push_back(letters_note(letters));
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    for (const Roofs& roofs : all) {
        if (const std::string missing = missing_roofs(roofs); !missing.empty()) {
            chart.notes.push_back(missing);
        }
    }
    if (!apart) {
        chart.panels.push_back(with_room(
            [&](double room) { return one_panel(groups, all, letters, room); }, line_alone));
        return chart;
    }
    chart.panels = panels_by_kernel(groups, all);
    chart.columns = 2;
    constexpr double row_height = 370;
    chart.width = 1240;
    chart.height = 60 + row_height * std::ceil(static_cast<double>(chart.panels.size()) / 2);
    return chart;
}

}  // namespace raceline

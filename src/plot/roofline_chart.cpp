// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <set>

#include "plot/charts.hpp"
#include "plot/panel_room.hpp"
#include "plot/roof_lines.hpp"
#include "plot/roofline_choice.hpp"
#include "plot/roofline_gap.hpp"
#include "plot/roofline_points.hpp"
#include "plot/roofs.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

// Short names where a chart has several devices: A, B and so on.
using DeviceLetters = std::map<std::string, std::string>;

DeviceLetters letters_of(const std::map<std::string, DeviceName>& devices) {
    DeviceLetters letters;
    char next = 'A';
    for (const auto& [label, name] : devices) {
        letters[label] = devices.size() == 1 ? std::string() : std::string(1, next);
        next = next == 'Z' ? 'A' : static_cast<char>(next + 1);
    }
    return letters;
}

std::string letters_note(const DeviceLetters& letters) {
    std::string text;
    for (const auto& [label, letter] : letters) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", letter, label);
    }
    return text;
}

bool differ(const RooflineGroups& groups, std::string RooflineGroup::* member) {
    return std::ranges::any_of(groups, [&](const auto& one) {
        return one.first.*member != groups.begin()->first.*member;
    });
}

// Commit and way of launching, where these tell groups of a panel apart: "at 4b2ec027, warm, …".
std::string run_title(const RooflineGroup& group, const RooflineGroups& all) {
    const std::string commit =
        differ(all, &RooflineGroup::commit) ? "at " + group.commit.substr(0, 8) : "";
    const std::string way = differ(all, &RooflineGroup::way) ? group.way : "";
    return commit + (commit.empty() || way.empty() ? "" : ", ") + way;
}

// Only what tells groups of this chart apart.
std::string group_title(const RooflineGroup& group, const RooflineGroups& all,
                        const DeviceLetters& letters) {
    const std::string& letter = letters.at(group.device);
    const std::string run = run_title(group, all);
    const std::string_view before = run.empty() ? "" : run.starts_with("at ") ? " " : ", ";
    return fmt::format("{}{}{}{}", group.kernel, letter.empty() ? "" : " on " + letter, before,
                       run);
}

// How a group is drawn.
struct GroupLook {
    Colour colour;
    Mark mark;
};
void add_points(Panel& panel, const std::string& title, const std::vector<RooflinePoint>& points,
                const GroupLook& look, const RooflineGroups& all, const Place& place) {
    const auto [colour, mark] = look;
    Series join{.title = {}, .colour = colour, .line = Line::solid, .width = 0.8, .points = {}};
    Series predicted{.title = {}, .colour = colour, .mark = mark, .filled = false, .points = {}};
    Series measured{.title = title, .colour = colour, .mark = mark, .points = {}};
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    for (const RooflinePoint& point : points) {
        const double x = point.intensity * shift_of(panel, point, all, place);
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
    std::map<std::string, int> times;  // machines of one name have labels that tell them apart
    for (const auto& [label, device] : devices) {
        ++times[device.name];
    }
    std::string text;
    for (const auto& [label, device] : devices) {
        text += (text.empty() ? "" : ", ") + (times.at(device.name) > 1 ? label : device.name);
    }
    return text;
}

using Looks = std::map<RooflineGroup, GroupLook>;

// Neither colour nor mark alone tells groups apart: not everybody sees the one, and a terminal has
// the other only.
Looks looks_of(const RooflineGroups& groups) {
    Looks looks;
    for (const auto& [group, points] : groups) {
        const std::size_t i = looks.size();
        looks[group] = {nth_colour(i), nth_mark(i)};
    }
    return looks;
}

void add_gaps(Panel& panel, const RooflineGroups& groups, const std::vector<Roofs>& all,
              const Looks& looks, const Place& place) {
    std::vector<ChartText> words;
    for (const auto& [group, point] : widest_gaps(groups)) {
        words.push_back(
            add_gap(panel, *point, *std::ranges::find(all, group.device, &Roofs::device),
                    looks.at(group).colour, shift_of(panel, *point, groups, place), place));
    }
    for (ChartText& one : words) {
        add_gap_words(panel, std::move(one), place);
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

// Lets the lowest diagonal of memory begin further from the points, where no mark is on it: where
// it enters the panel from below further down along it, else further left.
void make_room_along_roofs(Panel& panel, const std::vector<Roofs>& all, const Room& room) {
    double slowest = std::numeric_limits<double>::infinity();
    for (const Roofs& roofs : all) {
        slowest = roofs.memory.empty() ? slowest : std::min(slowest, roofs.memory.front().rate);
    }
    const bool from_below = std::isfinite(slowest) && panel.y.low / slowest > panel.x.low;
    const double down = from_below ? std::sqrt(room.along) : 1;
    panel.x.low /= room.along / down;
    panel.y.low /= down;
}

// All groups on one panel.
DrawnPanel one_panel(const RooflineGroups& groups, const std::vector<Roofs>& all,
                     const DeviceLetters& letters, const Room& room, const Place& place) {
    std::vector<Roofs> shown = all;
    for (Roofs& roofs : shown) {
        RooflineGroups its = groups;
        std::erase_if(its, [&](const auto& one) { return one.first.device != roofs.device; });
        roofs = all.size() > 1 ? roofs_for(its, roofs) : roofs;
    }
    Panel panel = empty_panel(groups, shown);
    panel.y.high *= room.above;
    make_room_along_roofs(panel, shown, room);
    // The names of each further device's memory stand further on along roofs that are close.
    const double further = std::pow(4, static_cast<double>(shown.size()) - 1);
    panel.x.low /= further;
    panel.y.low /= further;
    make_room_for_shifts(panel, groups, place);
    constexpr std::array lines{Line::solid, Line::dashed, Line::dotted};
    std::vector<Roof> engines;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::string& letter = letters.at(shown[i].device);
        const std::string of = letter.empty() ? "" : letter + " ";
        add_roofs(panel, shown[i], lines.at(i % lines.size()), of.empty() ? "" : of + "roofs");
        for (Roof roof : shown[i].engines) {
            roof.name = of + roof.name;
            engines.push_back(roof);
        }
    }
    std::ranges::sort(engines, {}, &Roof::rate);
    make_room_for_names(panel, engines);
    add_engine_names(panel, engines, place);
    const Looks looks = looks_of(groups);
    for (const auto& [group, points] : groups) {
        add_points(panel, group_title(group, groups, letters), points, looks.at(group), groups,
                   place);
    }
    // Names of memory after speed-ups: along their diagonals they have a choice of places.
    add_gaps(panel, groups, shown, looks, place);
    bool fit = true;
    for (const Roofs& roofs : shown) {
        const std::string& letter = letters.at(roofs.device);
        fit &= add_memory_names(panel, roofs, letter.empty() ? "" : letter + " ", place);
    }
    return {std::move(panel), fit};
}

// A kernel on one device, its commits apart.
DrawnPanel kernel_panel(const std::string& title, const RooflineGroups& its, const Roofs& roofs,
                        const Room& room, const Place& place) {
    Panel panel = empty_panel(its, {roofs});
    panel.y.high *= room.above;
    make_room_along_roofs(panel, {roofs}, room);
    make_room_for_shifts(panel, its, place);
    panel.title = title;
    add_roofs(panel, roofs, Line::solid, "");
    make_room_for_names(panel, roofs.engines);
    add_engine_names(panel, roofs.engines, place);
    const Looks looks = looks_of(its);
    for (const auto& [group, points] : its) {
        add_points(panel, its.size() > 1 ? run_title(group, its) : "measured", points,
                   looks.at(group), its, place);
    }
    add_gaps(panel, its, {roofs}, looks, place);
    const bool fit = add_memory_names(panel, roofs, "", place);
    return {std::move(panel), fit};
}

// What stands on one panel: all, or where these are too many to be told apart a kernel on a device.
std::vector<RooflineGroups> groups_by_panel(const RooflineGroups& groups, bool apart) {
    std::map<std::pair<std::string, std::string>, RooflineGroups> kernels;  // by device and kernel
    for (const auto& [group, points] : groups) {
        kernels[apart ? std::pair(group.device, group.kernel)
                      : std::pair<std::string, std::string>{}][group] = points;
    }
    std::vector<RooflineGroups> panels;
    for (auto& [of, its] : kernels) {
        find_hidden_marks(its);
        panels.push_back(std::move(its));
    }
    return panels;
}

// A panel for each kernel on a device. Each has axes of its own: on shared ones the points of most
// kernels, and the levels of memory, would lie on each other.
std::vector<DrawPanel> panels_by_kernel(const std::vector<RooflineGroups>& kernels,
                                        const std::vector<Roofs>& all) {
    std::vector<DrawPanel> panels;
    for (const RooflineGroups& its : kernels) {
        const RooflineGroup& first = its.begin()->first;
        const std::string& device = first.device;
        const std::string title = first.kernel + (all.size() > 1 ? " on " + device : "");
        panels.emplace_back(
            [title, its, roofs = roofs_for(its, *std::ranges::find(all, device, &Roofs::device))](
                const Room& room, const Place& place) {
                return kernel_panel(title, its, roofs, room, place);
            });
    }
    return panels;
}

// Copies have no place on a roofline: embedding, stores.
std::string note_of_idle(const TimedRows& rows) {
    std::set<std::string> kernels;
    std::size_t count = 0;
    for (const TimedCase& one : rows.cases) {
        if (one.measured.seconds_median > 0 && one.workload.flops() <= 0) {
            kernels.insert(one.kernel);
            ++count;
        }
    }
    return count == 0 ? ""
                      : fmt::format("{} of {} not drawn: {} no operations that a roofline counts.",
                                    counted_text(count, "case"), fmt::join(kernels, ", "),
                                    count == 1 ? "it does" : "they do");
}

void add_missing_roofs(Chart& chart, const std::vector<Roofs>& all) {
    for (const Roofs& roofs : all) {
        if (const std::string missing = missing_roofs(roofs); !missing.empty()) {
            chart.notes.push_back(missing);
        }
    }
}

void add_shared_memory_note(Chart& chart, const std::vector<Roofs>& all) {
    for (const Roofs& roofs : all) {
        if (const std::string shared = shared_memory_note(roofs); !shared.empty()) {
            chart.notes.push_back(shared);
            return;
        }
    }
}

}  // namespace

Chart roofline_chart(const TimedRows& rows, Shown shown) {
    const auto [groups, left_out] = chosen_groups(rows, shown);
    std::map<std::string, DeviceName> devices = devices_of(rows);
    if (!left_out.empty()) {  // the title names those that are drawn
        std::erase_if(devices, [&](const auto& device) {
            return std::ranges::none_of(
                groups, [&](const auto& group) { return group.first.device == device.first; });
        });
    }
    const bool apart = groups.size() > most_groups;
    const std::vector<RooflineGroups> panels = groups_by_panel(groups, apart);
    const DeviceLetters letters = letters_of(devices);
    std::vector<Roofs> all;
    all.reserve(devices.size());
    for (const auto& [label, name] : devices) {
        all.push_back(roofs_of(label, name, rows));
    }
    Chart chart{.title = "Roofline" + (devices.empty() ? "" : ": " + devices_text(devices))};
    if (groups.empty()) {
        chart.notes.emplace_back(left_out.empty() ? "No measured case in these receipts."
                                                  : "No case is left to draw.");
    } else {
        chart.key = "Hollow: predicted before the run; filled: measured." + gaps_key(panels);
    }
    if (!left_out.empty()) {
        chart.notes.push_back(left_out);
    }
    // A picture has room for a few remarks, the first ones: whose points these are, and why roofs
    // that a reader looks for are not there.
    if (devices.size() > 1 && !apart) {
        chart.notes.push_back(letters_note(letters));
    }
    if (const std::string idle = note_of_idle(rows); !idle.empty()) {
        chart.notes.push_back(idle);
    }
    add_missing_roofs(chart, all);
    if (std::ranges::any_of(panels, has_shifts)) {
        chart.notes.emplace_back(
            "Marks that would hide each other, as those of one case at several commits, stand "
            "beside each other: the newest in its place, older ones a little right of it.");
    }
    const bool roofed = std::ranges::any_of(
        all, [](const Roofs& roofs) { return !roofs.memory.empty() && !roofs.engines.empty(); });
    if (groups.empty() && !roofed) {
        chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
        chart.panels.emplace_back().missing =
            "Nothing to draw: these receipts have neither a settled measurement nor ceilings.";
        chart.height = height_of_missing;
        return chart;
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    add_shared_memory_note(chart, all);
    if (!apart) {
        draw_panels(chart, {[&](const Room& room, const Place& place) {
                        return one_panel(panels.empty() ? groups : panels.front(), all, letters,
                                         room, place);
                    }},
                    {.width = 600, .height = 400});
        return chart;
    }
    const std::vector<DrawPanel> draws = panels_by_kernel(panels, all);
    chart.columns = 2;
    chart.width = 1240;
    draw_panels(chart, draws, {.width = 420, .height = 230});
    return chart;
}

}  // namespace raceline

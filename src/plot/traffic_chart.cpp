// SPDX-License-Identifier: Apache-2.0
// How near to the rate of a copy operations come that only move bytes.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "device/catalog.hpp"
#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

// What a device reaches; 0: not known.
struct Ceilings {
    double copy = 0;    // bytes read and written a second
    double launch = 0;  // seconds, at least
};

Ceilings ceilings_of(const std::string& id) {
    Device device;
    try {
        device = datasheet_device(id);
    } catch (const Error&) {
        return {};  // a device that this build does not know
    }
    apply_committed_rates(device);
    const auto rate = [&](const char* resource) {
        const auto found = device.rates.find(resource);
        return found == device.rates.end() ? 0 : found->second.value;
    };
    return {rate("byte.dram_copy"), rate("floor.launch_graph")};
}

double bytes_of(const TimedCase& one) {
    return one.workload.bytes_read() + one.workload.bytes_written();
}

// By kernel, and by way of launching where that tells them apart.
using Cases = std::map<std::string, std::vector<const TimedCase*>>;

Cases cases_on(const std::string& device, const TimedRows& rows) {
    const bool ways = std::ranges::any_of(rows.cases, [&](const TimedCase& one) {
        return way_of(one) != way_of(rows.cases.front());
    });
    Cases cases;
    for (const TimedCase& one : rows.cases) {
        if (one.device == device && bytes_of(one) > 0 && one.measured.seconds_median > 0) {
            cases[one.kernel + (ways ? ", " + way_of(one) : "")].push_back(&one);
        }
    }
    return cases;
}

void add_cases(Panel& panel, const Cases& cases, double copy) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    std::size_t i = 0;
    for (const auto& [title, its] : cases) {
        const Colour colour = nth_colour(i);
        Series join{.title = {}, .colour = colour, .line = Line::solid, .width = 0.8, .points = {}};
        Series predicted{
            .title = {}, .colour = colour, .mark = nth_mark(i), .filled = false, .points = {}};
        Series measured{.title = title, .colour = colour, .mark = nth_mark(i), .points = {}};
        for (const TimedCase* one : its) {
            const double bytes = bytes_of(*one);
            const auto share = [&](double seconds) { return 100 * bytes / seconds / copy; };
            measured.points.push_back({bytes, share(one->measured.seconds_median)});
            if (one->predicted && one->predicted->seconds > 0) {
                predicted.points.push_back({bytes, share(one->predicted->seconds)});
                join.points.insert(join.points.end(),
                                   {predicted.points.back(), measured.points.back(), {none, none}});
            }
        }
        panel.series.push_back(std::move(join));
        panel.series.push_back(std::move(predicted));
        panel.series.push_back(std::move(measured));
        ++i;
    }
}

// The floor of a launch as far as it lies below the copy, and the copy.
void add_limits(Panel& panel, const Ceilings& ceilings) {
    const double whole = 100;
    const double ridge = ceilings.copy * ceilings.launch;
    Series limit{
        .title = {}, .colour = Colour::grey, .line = Line::solid, .width = 2, .points = {}};
    if (ridge > panel.x.low) {
        const double from = std::max(panel.x.low, panel.y.low / whole * ridge);
        limit.points.push_back({from, whole * from / ridge});
        panel.texts.push_back({.x = from * std::sqrt(ridge / from),
                               .y = whole * std::sqrt(from / ridge),
                               .text = "floor of a launch",
                               .align = Align::centre,
                               .towards = std::pair(ridge, whole)});
    }
    limit.points.push_back({std::max(panel.x.low, ridge), whole});
    limit.points.push_back({panel.x.high, whole});
    panel.series.insert(panel.series.begin(), std::move(limit));
    panel.texts.push_back({.x = panel.x.high,
                           .y = whole,
                           .text = fmt::format("a copy: {} ", format_si(ceilings.copy, "B/s")),
                           .align = Align::right,
                           .lines_below = -0.7});
}

Panel panel_of(const Cases& cases, const Ceilings& ceilings) {
    Panel panel;
    panel.x = {
        .title = "bytes that the problem reads and writes", .logarithmic = true, .ticks = {}};
    panel.y = {.title = "share of the rate of a copy",
               .scale = Scale::percent,
               .logarithmic = true,
               .ticks = {}};
    add_cases(panel, cases, ceilings.copy);
    std::vector<double> x;
    std::vector<double> y{100, 150};
    for (const Series& series : panel.series) {
        for (const ChartPoint& point : series.points) {
            if (std::isfinite(point.x)) {
                x.push_back(point.x);
                y.push_back(point.y);
            }
        }
    }
    fit(panel.x, x);
    fit(panel.y, y);
    for (double tick = std::pow(10, std::ceil(std::log10(panel.x.low))); tick < panel.x.high;
         tick *= 10) {
        std::string words = format_si(tick, "B");  // "10.0 MB"
        const std::size_t point = words.find('.');
        words.erase(std::min(point, words.size()),
                    point == std::string::npos ? 0 : words.find(' ') - point);
        panel.x.ticks.emplace_back(tick, words);
    }
    add_limits(panel, ceilings);
    return panel;
}

}  // namespace

Chart traffic_chart(const TimedRows& rows) {
    Chart chart{.title = "How near to a copy",
                .key = "Hollow: predicted before the run; filled: measured."};
    std::map<std::string, DeviceName> devices;
    for (const TimedCase& one : rows.cases) {
        devices.emplace(one.device, one.about.device);
    }
    for (const auto& [label, name] : devices) {
        const Ceilings ceilings = ceilings_of(name.id);
        const Cases cases = cases_on(label, rows);
        if (ceilings.copy <= 0) {
            chart.notes.push_back(fmt::format("{}: nobody measured its copies; not drawn", label));
        } else if (!cases.empty()) {
            chart.panels.push_back(panel_of(cases, ceilings));
            chart.panels.back().title = name.name;
        }
    }
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    if (chart.panels.empty()) {
        chart.key.clear();
        chart.panels.emplace_back().missing =
            "Nothing to draw: these receipts have no settled time on a device whose copies were "
            "measured.";
        chart.height = height_of_missing;
        return chart;
    }
    if (chart.panels.size() == 1) {
        chart.title += ": " + chart.panels.front().title;
        chart.panels.front().title.clear();
    }
    chart.columns = 1;
    give_axes_room(chart, 600, 380);
    return chart;
}

}  // namespace raceline

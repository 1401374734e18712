// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "plot/charts.hpp"

namespace raceline {
namespace {

// Shapes in the order of the receipts, the first on top.
std::vector<std::string> shapes_of(const TimedRows& rows) {
    std::vector<std::string> shapes;
    std::set<std::string> known;
    for (const TimedPeer& peer : rows.peers) {
        if (known.insert(peer.shape).second) {
            shapes.push_back(peer.shape);
        }
    }
    return shapes;
}

using Contest = std::pair<std::string, std::string>;  // peer, kernel
using Contests = std::map<Contest, std::vector<const TimedPeer*>>;

Contests contests_of(const TimedRows& rows, bool forms) {
    Contests contests;
    for (const TimedPeer& peer : rows.peers) {
        contests[{peer.peer + (forms ? " " + peer.form : ""), peer.kernel}].push_back(&peer);
    }
    return contests;
}

// A peer that was called in several ways on one shape is told apart by them.
bool has_forms(const TimedRows& rows) {
    std::set<std::string> seen;
    return std::ranges::any_of(rows.peers, [&](const TimedPeer& peer) {
        return !seen.insert(peer.device + "\n" + peer.kernel + "\n" + peer.shape + "\n" + peer.peer)
                    .second;
    });
}

std::string kernels_text(const TimedRows& rows) {
    std::set<std::string> kernels;
    std::string text;
    for (const TimedPeer& peer : rows.peers) {
        if (kernels.insert(peer.kernel + " on " + peer.device).second) {
            text += (text.empty() ? "" : ", ") + peer.kernel + " on " + peer.device;
        }
    }
    return text;
}

Series series_of(const Contest& contest, const std::vector<const TimedPeer*>& peers,
                 const std::map<std::string, double>& places, std::size_t i, double shift,
                 bool many_kernels) {
    Series series{.title = contest.first + (many_kernels ? " beside " + contest.second : ""),
                  .colour = nth_colour(i),
                  .mark = nth_mark(i),
                  .bars = Bars::along_x,
                  .points = {}};
    for (const TimedPeer* peer : peers) {
        series.points.push_back(
            {peer->ratio, places.at(peer->shape) + shift, peer->ratio_low, peer->ratio_high});
    }
    return series;
}

// A line where both take the same time, and one between shapes.
void add_ground(Panel& panel, std::size_t shapes) {
    panel.series.push_back({.title = {},
                            .colour = Colour::black,
                            .line = Line::solid,
                            .width = 1.2,
                            .points = {{1, panel.y.low}, {1, panel.y.high}}});
    Series between{
        .title = {}, .colour = Colour::grey, .line = Line::dotted, .width = 0.4, .points = {}};
    for (std::size_t i = 0; i + 1 < shapes; ++i) {
        const double y = static_cast<double>(i) + 0.5;
        between.points.insert(between.points.end(),
                              {{panel.x.low, y}, {panel.x.high, y}, {NAN, NAN}});
    }
    panel.series.push_back(std::move(between));
}

}  // namespace

Chart compare_chart(const TimedRows& rows) {
    const std::vector<std::string> shapes = shapes_of(rows);
    Chart chart{.title = "Time of other libraries over ours: " + kernels_text(rows),
                .notes = {"Right of 1 ours is faster; bars are 95 % intervals."},
                .panels = {}};
    chart.notes.insert(chart.notes.end(), rows.notes.begin(), rows.notes.end());
    if (shapes.empty()) {
        chart.title = "Time of other libraries over ours";
        chart.notes.front() = "No settled comparison in these receipts.";
    }
    const Contests contests = contests_of(rows, has_forms(rows));
    std::map<std::string, double> places;
    Panel panel;
    std::size_t longest = 4;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const auto y = static_cast<double>(shapes.size() - 1 - i);
        places[shapes[i]] = y;
        panel.y.ticks.emplace_back(y, shapes[i]);
        longest = std::max(longest, shapes[i].size());
    }
    panel.left_margin = 24 + 7.5 * static_cast<double>(longest);
    panel.y.low = -0.6;
    panel.y.high = std::max(0.0, static_cast<double>(shapes.size()) - 1) + 0.6;
    panel.x = {
        .title = "peer's time / ours", .scale = Scale::ratio, .logarithmic = true, .ticks = {}};
    std::vector<double> ends{1};
    for (const TimedPeer& peer : rows.peers) {
        ends.insert(ends.end(), {peer.ratio_low, peer.ratio_high});
    }
    fit(panel.x, ends);
    add_ground(panel, shapes.size());
    std::set<std::string> kernels;
    for (const auto& [contest, peers] : contests) {
        kernels.insert(contest.second);
    }
    const auto count = static_cast<double>(contests.size());
    std::size_t i = 0;
    for (const auto& [contest, peers] : contests) {
        const double shift =
            0.72 * ((count - 1) / 2 - static_cast<double>(i)) / std::max(1.0, count);
        panel.series.push_back(series_of(contest, peers, places, i++, shift, kernels.size() > 1));
    }
    chart.height =
        std::max(360.0, 170 + static_cast<double>(shapes.size()) * std::max(18.0, 5.5 * count));
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline

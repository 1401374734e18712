// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "plot/charts.hpp"
#include "plot/peer_looks.hpp"
#include "report/docs_peers.hpp"

namespace raceline {
namespace {

using Peers = std::vector<const TimedPeer*>;

// What one panel shows: a kernel of ours as it was at a commit.
struct Ours {
    std::string device, kernel, commit;
    auto operator<=>(const Ours&) const = default;
};

// In the order of the receipts.
std::vector<std::pair<Ours, Peers>> panels_of(const TimedRows& rows) {
    std::vector<std::pair<Ours, Peers>> panels;
    for (const TimedPeer& peer : rows.peers) {
        const Ours ours{peer.device, peer.kernel, peer.commit};
        auto found = std::ranges::find(panels, ours, &std::pair<Ours, Peers>::first);
        if (found == panels.end()) {
            found = panels.insert(panels.end(), {ours, {}});
        }
        found->second.push_back(&peer);
    }
    return panels;
}

// Shapes in the order of the receipts, the first on top.
std::vector<std::string> shapes_of(const Peers& peers) {
    std::vector<std::string> shapes;
    std::set<std::string> known;
    for (const TimedPeer* peer : peers) {
        if (known.insert(peer->shape).second) {
            shapes.push_back(peer->shape);
        }
    }
    return shapes;
}

// Lines of shapes of all panels.
std::size_t rows_of(const std::vector<std::pair<Ours, Peers>>& panels) {
    std::size_t count = 0;
    for (const auto& [ours, peers] : panels) {
        count += shapes_of(peers).size();
    }
    return count;
}

// More rows than these are no picture to look at, but one to search.
constexpr std::size_t most_rows = 60;

// Of each kernel, shape and peer the newest comparison; of kernels that have fresh ones no stale
// one.
std::vector<TimedPeer> newest_of(const std::vector<TimedPeer>& peers) {
    const auto key = [](const TimedPeer& peer) {
        return std::tuple(peer.device, peer.kernel, peer.shape, peer.peer, peer.form);
    };
    std::map<decltype(key(peers.front())), std::string> newest;
    std::set<std::pair<std::string, std::string>> fresh;
    for (const TimedPeer& peer : peers) {
        std::string& known = newest[key(peer)];
        known = std::max(known, peer.written);
        if (!peer.stale) {
            fresh.emplace(peer.device, peer.kernel);
        }
    }
    std::vector<TimedPeer> some;
    std::ranges::copy_if(peers, std::back_inserter(some), [&](const TimedPeer& peer) {
        return newest.at(key(peer)) == peer.written &&
               !(peer.stale && fresh.contains({peer.device, peer.kernel}));
    });
    return some;
}

// Those of the rows in which the best peer takes the least time beside ours.
std::vector<TimedPeer> worst_of(const std::vector<TimedPeer>& peers) {
    using Row = std::tuple<std::string, std::string, std::string, std::string>;
    const auto row = [](const TimedPeer& peer) {
        return Row(peer.device, peer.kernel, peer.commit, peer.shape);
    };
    std::map<Row, double> ratios;
    for (const TimedPeer& peer : peers) {
        const auto [known, is_new] = ratios.try_emplace(row(peer), peer.ratio);
        known->second = std::min(known->second, peer.ratio);
    }
    std::vector<std::pair<double, Row>> order;
    order.reserve(ratios.size());
    for (const auto& [of, ratio] : ratios) {
        order.emplace_back(ratio, of);
    }
    std::ranges::sort(order);
    order.resize(std::min(order.size(), most_rows));
    std::set<Row> worst;
    for (const auto& [ratio, of] : order) {
        worst.insert(of);
    }
    std::vector<TimedPeer> some;
    std::ranges::copy_if(peers, std::back_inserter(some),
                         [&](const TimedPeer& peer) { return worst.contains(row(peer)); });
    return some;
}

// What is drawn of many comparisons, with a note on what is not.
TimedRows bounded(const TimedRows& rows) {
    TimedRows some{.cases = {},
                   .peers = newest_of(rows.peers),
                   .ceilings = {},
                   .stated = {},
                   .rows = {},
                   .notes = rows.notes};
    const std::size_t before = rows_of(panels_of(some));
    some.peers = worst_of(some.peers);
    some.notes.insert(
        some.notes.begin(),
        fmt::format("{} of {} comparisons are drawn: the newest of each kernel, shape and peer, "
                    "stale ones only of kernels that have no others{}. --all draws the rest too.",
                    some.peers.size(), rows.peers.size(),
                    before > most_rows ? fmt::format(", and of these {} shapes the {} where ours "
                                                     "does worst",
                                                     before, most_rows)
                                       : ""));
    return some;
}

// How a peer was called, without the names of the kernels that ran: these stand in its row.
std::string name_of(const TimedPeer& peer, bool forms) {
    return peer.peer + (forms ? " " + peer_form(peer) : "");
}

// The same in a legend: "FlashAttention-3", not "fa3". Where two of its peers have one title, their
// short names tell them apart.
std::string legend_name(const TimedPeer& peer, const Peers& all, bool forms) {
    const std::string title = peer_title(peer.peer);
    const bool shared = std::ranges::any_of(all, [&](const TimedPeer* other) {
        return other->peer != peer.peer && peer_title(other->peer) == title;
    });
    return title + (shared ? fmt::format(" ({})", peer.peer) : "") +
           (forms ? " " + peer_form(peer) : "");
}

// A peer that was called in several ways on one shape is told apart by them.
bool has_forms(const TimedRows& rows) {
    std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>> seen;
    return std::ranges::any_of(rows.peers, [&](const TimedPeer& peer) {
        return !seen.insert({peer.device, peer.kernel, peer.commit, peer.shape, peer.peer}).second;
    });
}

// The number of each peer's look by its name here, of several forms the least.
std::map<std::string, std::size_t> numbers_of(const TimedRows& rows, bool forms) {
    const std::vector<std::size_t> all = peer_numbers(rows.peers);
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto known = numbers.try_emplace(name_of(rows.peers[i], forms), all[i]).first;
        known->second = std::min(known->second, all[i]);
    }
    return numbers;
}

std::string title_of(const Ours& ours, const Peers& peers, bool several) {
    const bool stale = std::ranges::any_of(peers, &TimedPeer::stale);
    return ours.kernel + " on " + ours.device +
           (several
                ? " at " + ours.commit.substr(0, 8) + " of " + peers.front()->written.substr(0, 10)
                : "") +
           (stale ? " (stale: it has changed since)" : "");
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

// One a peer, each a little lower than the one before; stale comparisons are hollow, as on the
// page.
void add_peers(Panel& panel, const Peers& peers, const std::map<std::string, double>& places,
               const std::map<std::string, std::size_t>& numbers, bool forms) {
    std::map<std::string, Peers> by_name;
    for (const TimedPeer* peer : peers) {
        by_name[name_of(*peer, forms)].push_back(peer);
    }
    const auto count = static_cast<double>(by_name.size());
    double i = 0;
    for (const auto& [name, of_peer] : by_name) {
        const double shift = 0.72 * ((count - 1) / 2 - i++) / std::max(1.0, count);
        std::string title = legend_name(*of_peer.front(), peers, forms);
        for (const bool stale : {false, true}) {
            Series series{.title = title,
                          .colour = peer_colour(numbers.at(name)),
                          .mark = peer_mark(numbers.at(name)),
                          .filled = !stale,
                          .bars = Bars::along_x,
                          .points = {}};
            for (const TimedPeer* peer : of_peer) {
                if (peer->stale == stale) {
                    series.points.push_back({peer->ratio, places.at(peer->shape) + shift,
                                             peer->ratio_low, peer->ratio_high});
                }
            }
            if (!series.points.empty()) {
                title.clear();  // the legend has each peer once
                panel.series.push_back(std::move(series));
            }
        }
    }
}

Panel panel_of(const Peers& peers, const std::map<std::string, std::size_t>& numbers, bool forms,
               bool several) {
    const std::vector<std::string> shapes = shapes_of(peers);
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
    std::set<std::string> names;
    for (const TimedPeer* peer : peers) {
        ends.insert(ends.end(), {peer->ratio_low, peer->ratio_high});
        names.insert(name_of(*peer, forms));
    }
    fit(panel.x, ends);
    add_ground(panel, shapes.size());
    add_peers(panel, peers, places, numbers, forms);
    const double rows = static_cast<double>(shapes.size()) *
                        std::max(18.0, 5.5 * static_cast<double>(names.size()));
    panel.height = 130 + rows;
    constexpr double screen = 600;  // nobody looks for a legend farther down
    // Below a small panel it would stand on the next one, as if it were that one's.
    panel.legend_above = several || rows > screen;
    return panel;
}

}  // namespace

Chart compare_chart(const TimedRows& all, Shown shown) {
    const bool many = shown == Shown::most_useful && rows_of(panels_of(all)) > most_rows;
    const TimedRows some = many ? bounded(all) : TimedRows{};
    const TimedRows& rows = many ? some : all;
    const auto panels = panels_of(rows);
    const bool forms = has_forms(rows);
    const auto numbers = numbers_of(rows, forms);
    Chart chart{.title = "Time of other libraries over ours",
                .key = "Right of 1 ours is faster; bars are 95 % intervals.",
                .notes = rows.notes};
    if (std::ranges::any_of(rows.peers, &TimedPeer::stale)) {
        chart.key += " Hollow: stale, our kernel has changed since.";
    }
    if (panels.empty()) {
        chart.key.clear();
        chart.notes.insert(chart.notes.begin(), "No settled comparison in these receipts.");
        chart.panels.emplace_back().missing =
            "Nothing to draw: no row of these receipts has a peer's time beside ours.";
        chart.height = height_of_missing;
        return chart;
    }
    double height = 0;
    double margin = 0;
    for (const auto& [ours, peers] : panels) {
        Panel panel = panel_of(peers, numbers, forms, panels.size() > 1);
        height += panel.height;
        margin = std::max(margin, panel.left_margin);
        if (panels.size() == 1) {
            chart.title += ": " + title_of(ours, peers, false);
        } else {
            panel.title = title_of(ours, peers, true);
        }
        chart.panels.push_back(std::move(panel));
    }
    for (Panel& panel : chart.panels) {
        panel.left_margin = margin;
    }
    chart.columns = 1;
    chart.height = std::max(360.0, 40 + height);
    return chart;
}

}  // namespace raceline

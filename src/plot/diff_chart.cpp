// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "report/ladder_verdict.hpp"
#include "support/text_table.hpp"
#include "support/words.hpp"

namespace raceline {
namespace {

// Cases that changed so, those whose newest prediction missed apart.
void add_changes(const ReceiptDiff& diff, Change change, std::string_view title, Colour colour,
                 Mark mark, Panel& panel) {
    for (const bool missed : {false, true}) {
        Series series{.title = std::string(title),
                      .colour = colour,
                      .mark = mark,
                      .filled = !missed,
                      .bars = Bars::along_x,
                      .points = {}};
        for (std::size_t i = 0; i < diff.cases.size(); ++i) {
            const CaseDiff& one = diff.cases[i];
            if (one.change == change && one.missed == missed) {
                series.points.push_back(
                    {one.ratio, -static_cast<double>(i), one.ratio_low, one.ratio_high});
            }
        }
        series.title +=
            fmt::format("{} ({})", missed ? ", mispredicted" : "", series.points.size());
        if (!missed || !series.points.empty()) {
            panel.series.push_back(std::move(series));
        }
    }
}

// What all rows of the picture say: a kernel, words of a shape. It stands once, above the axes.
struct Shared {
    std::string kernel;
    std::set<std::string> words;
    std::string text;  // "" where they share nothing
};

Shared shared_by(const ReceiptDiff& diff) {
    Shared shared;
    if (diff.cases.size() < 2) {
        return shared;  // a single row says it best itself
    }
    const TimedCase& first = diff.cases.front().after;
    const auto in_all = [&](const auto& holds) {
        return std::ranges::all_of(diff.cases,
                                   [&](const CaseDiff& one) { return holds(one.after); });
    };
    if (in_all([&](const TimedCase& one) { return one.kernel == first.kernel; })) {
        shared.kernel = shared.text = first.kernel;
    }
    std::string words;
    for (const std::string& word : words_of(first.shape)) {
        if (in_all([&](const TimedCase& one) {
                return std::ranges::count(words_of(one.shape), word) > 0;
            })) {
            shared.words.insert(word);
            words += (words.empty() ? "" : ",") + word;
        }
    }
    shared.text += (shared.text.empty() || words.empty() ? "" : " ") + words;
    return shared;
}

// Kernel and shape without what all rows share.
std::string own_name(const TimedCase& one, const Shared& shared) {
    std::string words;
    for (const std::string& word : words_of(one.shape)) {
        words += shared.words.contains(word) ? "" : (words.empty() ? "" : ",") + word;
    }
    if (!shared.kernel.empty()) {
        return words;
    }
    return one.kernel + (words.empty() ? "" : " " + words);
}

// Letters of the longest name beside the axes: more would leave the bars too little of the picture.
constexpr std::size_t most_letters = 84;

// Names that are longer lose their middle; where two would then be one, they get numbers.
void cap(std::vector<std::string>& names) {
    std::map<std::string, int> times;
    for (std::string& name : names) {
        if (letters(name) > most_letters) {
            constexpr std::size_t end = 36;
            const std::size_t begin = most_letters - end - 5;  // room for "…" and a number
            name = name.substr(0, begin) + "…" + name.substr(name.size() - end);
            if (const int n = ++times[name]; n > 1) {
                name += fmt::format(" ({})", n);
            }
        }
    }
}

std::string way_of_launching(const TimedCase& one) {
    const LaunchCase& launch = one.about.launch;
    return fmt::format("{}, {}, {}", launch.cold ? "cold" : "warm", launch.launch_path,
                       one.interleaved ? "in turns with a peer" : launch.regime);
}

// Kernel and shape; where these do not tell cases apart, tile and device too, then the way of
// launching.
std::vector<std::string> names_of(const ReceiptDiff& diff, const Shared& shared) {
    std::vector<std::string> names;
    names.reserve(diff.cases.size());
    for (const CaseDiff& one : diff.cases) {
        names.push_back(own_name(one.after, shared));
    }
    const auto add_to_repeats = [&](const auto& more) {
        std::map<std::string, std::set<std::string>> told;  // what it says of those of one name
        for (std::size_t i = 0; i < names.size(); ++i) {
            told[names[i]].insert(more(diff.cases[i].after));
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (told.at(names[i]).size() > 1) {
                names[i] += (names[i].empty() ? "" : " ") + more(diff.cases[i].after);
            }
        }
    };
    add_to_repeats([](const TimedCase& one) { return tile_fields(one.about.tile); });
    add_to_repeats([](const TimedCase& one) { return "on " + one.device; });
    add_to_repeats(way_of_launching);
    cap(names);
    return names;
}

// More rows than these are no picture to look at, but one to search.
constexpr std::size_t most_cases = 80;

// Of many cases those whose time changed most, in the order that they have.
ReceiptDiff most_changed(const ReceiptDiff& diff) {
    const auto by_change = [&](std::size_t i) {
        return std::pair(-std::abs(std::log(diff.cases[i].ratio)), i);
    };
    std::vector<std::size_t> order(diff.cases.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, by_change);
    order.resize(most_cases);
    std::ranges::sort(order);
    ReceiptDiff some = diff;
    some.cases.clear();
    for (const std::size_t i : order) {
        some.cases.push_back(diff.cases[i]);
    }
    some.notes.insert(some.notes.begin(),
                      fmt::format("{} of {} cases are drawn, those whose time changed most. --all "
                                  "draws the others too.",
                                  most_cases, diff.cases.size()));
    return some;
}

// Which two runs these are, where they have names.
std::string title_of(const ReceiptDiff& diff) {
    return "Time before over time after" +
           (diff.before.empty() ? "" : ": " + diff.before + " before, " + diff.after + " after");
}

}  // namespace

Chart diff_chart(const ReceiptDiff& all, Shown shown) {
    const bool many = shown == Shown::most_useful && all.cases.size() > most_cases;
    const ReceiptDiff some = many ? most_changed(all) : ReceiptDiff{};
    const ReceiptDiff& diff = many ? some : all;
    Chart chart{.title = title_of(diff),
                .key = fmt::format(
                    "Right of 1 it became faster; bars run as far as both medians allow. The same: "
                    "the bar holds 1, or the ratio is within {} of it. Hollow: the newest "
                    "prediction missed.",
                    format_percent(no_effect)),
                .notes = diff.notes};
    if (diff.cases.empty()) {
        chart.key.clear();
        chart.notes.insert(chart.notes.begin(), "No case was timed on both sides.");
        chart.panels.emplace_back().missing =
            "Nothing to draw: cases are matched by device, kernel, workload and way of launching, "
            "and none of the one side is on the other.";
        chart.height = height_of_missing;
        chart.width = 1100;
        return chart;
    }
    Panel panel;
    std::vector<double> ends{1};
    std::size_t longest = 4;
    const Shared shared = shared_by(diff);
    const std::vector<std::string> names = names_of(diff, shared);
    panel.title = shared.text.empty() ? "" : "All rows: " + shared.text;
    for (std::size_t i = 0; i < diff.cases.size(); ++i) {
        const CaseDiff& one = diff.cases[i];
        longest = std::max(longest, letters(names[i]));
        panel.y.ticks.emplace_back(-static_cast<double>(i), names[i]);
        ends.insert(ends.end(), {one.ratio_low, one.ratio_high});
    }
    panel.left_margin = 24 + 7.5 * static_cast<double>(longest);
    panel.x = {.title = "time before / time after",
               .scale = Scale::ratio,
               .logarithmic = true,
               .ticks = {}};
    panel.y.low = 0.4 - std::max(1.0, static_cast<double>(diff.cases.size()));
    panel.y.high = 0.6;
    fit(panel.x, ends);
    panel.series = {{.title = {},
                     .colour = Colour::black,
                     .line = Line::solid,
                     .points = {{1, panel.y.low}, {1, panel.y.high}}}};
    add_changes(diff, Change::faster, "faster", Colour::blue, Mark::circle, panel);
    add_changes(diff, Change::same, "the same", Colour::grey, Mark::square, panel);
    add_changes(diff, Change::slower, "slower", Colour::vermillion, Mark::triangle, panel);
    chart.width = std::max(1100.0, 2 * panel.left_margin + 40);
    chart.height = std::max(360.0, 170 + 18 * static_cast<double>(diff.cases.size()));
    chart.panels.push_back(std::move(panel));
    return chart;
}

}  // namespace raceline

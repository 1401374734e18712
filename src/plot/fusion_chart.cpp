// SPDX-License-Identifier: Apache-2.0
// Chains of steps: the steps one after the other, and below them the fused chain.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>

#include "plot/charts.hpp"
#include "plot/placement.hpp"
#include "support/check.hpp"
#include "workload/fusion.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

struct TimedStep {
    std::string name;
    const TimedCase* timed = nullptr;
};

struct TimedChain {
    const TimedCase* fused = nullptr;
    std::vector<TimedStep> steps;

    [[nodiscard]] double before() const {
        double sum = 0;
        for (const TimedStep& step : steps) {
            sum += step.timed->measured.seconds_median;
        }
        return sum;
    }
    // 0: of a step or of the chain none is known.
    [[nodiscard]] double predicted_share() const {
        double sum = 0;
        for (const TimedStep& step : steps) {
            if (!step.timed->predicted) {
                return 0;
            }
            sum += step.timed->predicted->seconds;
        }
        return fused->predicted ? fused->predicted->seconds / sum : 0;
    }
};

// Times compare where they are of one device and one way of launching.
using CaseKey = std::tuple<std::string, std::string, std::string>;

CaseKey key_of(const TimedCase& one, const std::string& shape) {
    return {one.device, way_of(one), shape};
}

// The newest time of each problem on each device.
std::map<CaseKey, const TimedCase*> newest_of(const TimedRows& rows) {
    std::map<CaseKey, const TimedCase*> newest;
    for (const TimedCase& one : rows.cases) {
        const TimedCase*& known = newest[key_of(one, one.shape)];
        known = known == nullptr || known->written < one.written ? &one : known;
    }
    return newest;
}

std::optional<Fusion> chain_of(const Workload& workload) {
    try {
        return fusion_of(workload);
    } catch (const Error&) {
        return std::nullopt;  // of one step
    }
}

std::vector<TimedChain> chains_of(const TimedRows& rows) {
    const std::map<CaseKey, const TimedCase*> newest = newest_of(rows);
    std::vector<TimedChain> chains;
    for (const auto& [key, one] : newest) {
        const std::optional<Fusion> fusion = chain_of(one->workload);
        TimedChain chain{one, {}};
        for (const FusionPart& part : fusion ? fusion->parts : std::vector<FusionPart>()) {
            const auto found = part.workload
                                   ? newest.find(key_of(*one, format_shape(*part.workload)))
                                   : newest.end();
            if (found == newest.end()) {
                chain.steps.clear();
                break;
            }
            chain.steps.push_back({part.name, found->second});
        }
        if (!chain.steps.empty()) {
            chains.push_back(std::move(chain));
        }
    }
    // What fusing saves most stands first.
    std::ranges::sort(chains, {}, [](const TimedChain& chain) {
        return chain.fused->measured.seconds_median / chain.before();
    });
    return chains;
}

constexpr double chain_width = 9;  // points
constexpr double all_percent = 100;

void add_bar(Panel& panel, double y, double from, double to, Colour colour) {
    panel.series.push_back({.title = {},
                            .colour = colour,
                            .line = Line::solid,
                            .width = chain_width,
                            .points = {{from, y}, {to, y}}});
}

// Two bars: steps in turn, and the chain a unit below them.
void add_chain(Panel& panel, const TimedChain& chain, double y) {
    const double before = chain.before();
    double at = 0;
    for (std::size_t i = 0; i < chain.steps.size(); ++i) {
        const double share = all_percent * chain.steps[i].timed->measured.seconds_median / before;
        add_bar(panel, y, at, at + share, i % 2 == 0 ? Colour::violet : Colour::brown);
        panel.texts.push_back({.x = at + share / 2,
                               .y = y,
                               .text = chain.steps[i].name,
                               .align = Align::centre,
                               .backed = true});
        at += share;
    }
    const double fused = all_percent * chain.fused->measured.seconds_median / before;
    const double predicted = all_percent * chain.predicted_share();
    add_bar(panel, y - 1, 0, fused, Colour::green);
    if (predicted > 0) {
        panel.series.push_back(
            {.title = {}, .mark = Mark::diamond, .filled = false, .points = {{predicted, y - 1}}});
    }
    panel.texts.push_back({.x = std::max(fused, predicted),
                           .y = y - 1,
                           .text = fmt::format("  {:.2f}× as fast", all_percent / fused),
                           .align = Align::left});
}

// "add+rmsnorm,n=16384x4096".
std::string chain_name(const TimedChain& chain) {
    constexpr std::string_view field = "op=";
    std::string shape = chain.fused->shape;
    shape = shape.starts_with(field) ? shape.substr(field.size()) : shape;
    return shape.substr(0, shape.find(",dtype="));
}

}  // namespace

Chart fusion_chart(const TimedRows& rows) {
    const std::vector<TimedChain> chains = chains_of(rows);
    Chart chart{.title = "What fusing saves",
                .key =
                    "Above: steps by themselves, one after the other. Below: the fused chain. "
                    "Bars were measured; a hollow mark is the end that was predicted.",
                .notes = rows.notes};
    if (chains.empty()) {
        chart.key.clear();
        chart.panels.emplace_back().missing =
            "Nothing to draw: of no chain in these receipts each step was timed by itself.";
        chart.height = height_of_missing;
        return chart;
    }
    const TimedCase& first = *chains.front().fused;
    const bool one_device = std::ranges::all_of(
        chains, [&](const TimedChain& chain) { return chain.fused->device == first.device; });
    chart.title += one_device ? ": " + first.about.device.name : "";
    Panel panel;
    panel.x = {.title = "time, in shares of the steps one after the other",
               .scale = Scale::percent,
               .low = 0,
               .high = 112,
               .ticks = {}};
    const auto count = static_cast<double>(chains.size());
    panel.y = {.title = {}, .low = 0.4, .high = 2 * count + 0.8, .ticks = {}};
    std::size_t longest = 0;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        const double y = 2 * (count - static_cast<double>(i));
        add_chain(panel, chains[i], y);
        const std::string name =
            chain_name(chains[i]) + (one_device ? "" : " on " + chains[i].fused->device);
        panel.y.ticks.emplace_back(y, "step by step");
        panel.y.ticks.emplace_back(y - 1, name);
        longest = std::max(longest, letters(name));
    }
    panel.left_margin = 24 + letter_width * static_cast<double>(longest);
    chart.panels.push_back(std::move(panel));
    constexpr double row = 84;
    give_axes_room(chart, 560, row * count);
    return chart;
}

}  // namespace raceline

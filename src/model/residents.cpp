// SPDX-License-Identifier: Apache-2.0
#include "model/residents.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/constant.hpp"
#include "model/overlap.hpp"

namespace raceline {
namespace {

constexpr Constant siblings_in_line = calibrated(
    "residents.siblings_in_line", 1,
    "the rule for warps of one CTA was chosen among three with times of simt and of the "
    "ladder at hand: receipts/h200/2026-11-21-ladder-12c3875edbd2 and receipts/index.jsonl",
    0, "warps of one CTA meet by chance, as those of different ones do");

// Rounds of the iteration for the queues, and the change of a round, relative, that ends it: far
// under what any time is known to. Rounds are a fifth of what a short prediction costs.
constexpr int most_rounds = 256;
constexpr double settled = 1e-6;

// One repeat of a step, as a warp sees it.
struct WarpStep {
    double repeat = 1;
    double alone = 0;    ///< seconds with nothing in its way
    double seconds = 0;  ///< with all that it waits for
    Seconds work{};      ///< of the warp, at each resource that it queues for
    Seconds wait{};
};

// Share of the unit's warps, or of a scheduler's, that one CTA has at a resource.
double warps_at(const LaunchCosts& costs, std::size_t resource) {
    return costs.warps / costs.ports[resource];
}

// A CTA of fewer warps than schedulers uses as many of them as it has warps.
double of_one_warp(const LaunchCosts& costs, const StepCosts& step, std::size_t resource) {
    return step.costs.alone[resource] / warps_at(costs, resource);
}

WarpStep warp_step(const LaunchCosts& costs, const StepCosts& step, std::int64_t units) {
    WarpStep warp{.repeat = step.repeat};
    Seconds seconds{};
    for (std::size_t i = 0; i < costs.resources; ++i) {
        const bool own = costs.ports[i] > 0;
        seconds[i] = own ? of_one_warp(costs, step, i) : step.costs.with_units(i, units);
        warp.work[i] = own && costs.queues[i] ? seconds[i] : 0;
    }
    seconds[dram_index] =
        std::max(seconds[dram_index], step.costs.dram_read_bytes * costs.latency_per_byte);
    const StepTime one =
        step_time({seconds.data(), costs.resources}, {costs.beside.data(), costs.resources});
    warp.alone = std::max(one.seconds, step.chain_seconds(1)) + step.wait_seconds;
    warp.seconds = warp.alone;
    return warp;
}

// Share of its time that a warp is at a resource, waiting or served.
Seconds shares_of(const std::vector<WarpStep>& steps, double total) {
    Seconds shares{};
    for (const WarpStep& step : steps) {
        for (std::size_t i = 0; i < max_resources; ++i) {
            shares[i] += step.repeat * (step.work[i] + step.wait[i]);
        }
    }
    for (double& share : shares) {
        share = total > 0 ? std::min(1.0, share / total) : 0;
    }
    return shares;
}

// What the step waits for at a resource if warps of other CTAs are there for `share` of their time.
double waiting(const LaunchCosts& costs, const WarpStep& step, std::size_t i, double share,
               std::int64_t residents) {
    const double siblings = std::max(0.0, warps_at(costs, i) - 1);
    const double by_chance =
        step.seconds > 0 ? std::min(1.0, (step.work[i] + step.wait[i]) / step.seconds) : 0;
    const double in_line =
        costs.ports[i] == 1 ? std::max(siblings_in_line + 0.0, by_chance) : by_chance;
    const double others = static_cast<double>(residents - 1) * warps_at(costs, i);
    return step.work[i] * (siblings * in_line + others * share);
}

}  // namespace

double warps_in_line_seconds(const LaunchCosts& costs, std::int64_t units, std::int64_t residents) {
    std::vector<WarpStep> steps;
    steps.reserve(costs.steps.size());
    double total = 0;
    for (const StepCosts& step : costs.steps) {
        steps.push_back(warp_step(costs, step, units));
        total += step.repeat * steps.back().seconds;
    }
    bool half_way = false;  // from the round before: not as long as rounds come closer fast
    double last_change = total;
    for (int round = 0; round < most_rounds; ++round) {
        const Seconds shares = shares_of(steps, total);
        const double before = total;
        total = 0;
        for (WarpStep& step : steps) {
            double seconds = step.alone;
            for (std::size_t i = 0; i < costs.resources; ++i) {
                if (step.work[i] > 0) {
                    const double next = waiting(costs, step, i, shares[i], residents);
                    step.wait[i] = half_way ? (step.wait[i] + next) / 2 : next;
                    seconds += step.wait[i];
                }
            }
            step.seconds = seconds;
            total += step.repeat * seconds;
        }
        const double change = std::abs(total - before);
        if (change <= settled * total) {
            break;
        }
        half_way |= change > last_change / 2;  // rounds swing around the answer
        last_change = change;
    }
    return total;
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "model/residents.hpp"

#include <algorithm>
#include <array>
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

// Resources of the unit that warps queue for, by number.
struct Queued {
    std::size_t count = 0;
    std::array<std::size_t, max_resources> list;

    explicit Queued(const LaunchCosts& costs) {
        for (std::size_t i = 0; i < costs.resources; ++i) {
            if (costs.ports[i] > 0 && costs.queues[i]) {
                list[count++] = i;
            }
        }
    }
};

// One repeat of a step, as a warp sees it.
struct WarpStep {
    double repeat = 1;
    double alone = 0;    ///< seconds with nothing in its way
    double seconds = 0;  ///< with all that it waits for
};

// What a warp does at a resource that it queues for, and what it waits for there, in seconds.
struct AtQueue {
    double work = 0, wait = 0;
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
    Seconds seconds;
    for (std::size_t i = 0; i < costs.resources; ++i) {
        seconds[i] =
            costs.ports[i] > 0 ? of_one_warp(costs, step, i) : step.costs.with_units(i, units);
    }
    seconds[dram_index] =
        std::max(seconds[dram_index], step.costs.dram_read_bytes * costs.latency_per_byte);
    const StepTime one =
        step_time({seconds.data(), costs.resources}, {costs.beside.data(), costs.resources});
    const double alone = std::max(one.seconds, step.chain_seconds(1)) + step.wait_seconds;
    return {step.repeat, alone, alone};
}

// What the step waits for at a resource if warps of other CTAs are there for `share` of their time.
double waiting(const LaunchCosts& costs, double seconds, const AtQueue& at, std::size_t resource,
               double share, std::int64_t residents) {
    const double siblings = std::max(0.0, warps_at(costs, resource) - 1);
    const double by_chance = seconds > 0 ? std::min(1.0, (at.work + at.wait) / seconds) : 0;
    const double in_line =
        costs.ports[resource] == 1 ? std::max(siblings_in_line + 0.0, by_chance) : by_chance;
    const double others = static_cast<double>(residents - 1) * warps_at(costs, resource);
    return at.work * (siblings * in_line + others * share);
}

}  // namespace

double warps_in_line_seconds(const LaunchCosts& costs, std::int64_t units, std::int64_t residents) {
    const Queued queued(costs);
    std::vector<WarpStep> steps;
    std::vector<AtQueue> queues;  // of each step those of `queued`
    steps.reserve(costs.steps.size());
    queues.reserve(costs.steps.size() * queued.count);
    double total = 0;
    for (const StepCosts& step : costs.steps) {
        steps.push_back(warp_step(costs, step, units));
        total += step.repeat * steps.back().seconds;
        for (std::size_t q = 0; q < queued.count; ++q) {
            queues.push_back({of_one_warp(costs, step, queued.list[q]), 0});
        }
    }
    bool half_way = false;  // from the round before: not as long as rounds come closer fast
    double last_change = total;
    for (int round = 0; round < most_rounds; ++round) {
        // Share of its time that a warp is at a resource, waiting or served.
        Seconds shares;
        for (std::size_t q = 0; q < queued.count; ++q) {
            double there = 0;
            for (std::size_t s = 0; s < steps.size(); ++s) {
                const AtQueue& at = queues[s * queued.count + q];
                there += steps[s].repeat * (at.work + at.wait);
            }
            shares[q] = total > 0 ? std::min(1.0, there / total) : 0;
        }
        const double before = total;
        total = 0;
        for (std::size_t s = 0; s < steps.size(); ++s) {
            double seconds = steps[s].alone;
            for (std::size_t q = 0; q < queued.count; ++q) {
                AtQueue& at = queues[s * queued.count + q];
                if (at.work > 0) {
                    const double next =
                        waiting(costs, steps[s].seconds, at, queued.list[q], shares[q], residents);
                    at.wait = half_way ? (at.wait + next) / 2 : next;
                    seconds += at.wait;
                }
            }
            steps[s].seconds = seconds;
            total += steps[s].repeat * seconds;
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

// SPDX-License-Identifier: Apache-2.0
// Layer 2: a call is its launches one after the other; each is its floor, the start and drain of
// its waves, and its schedule.
#include <algorithm>
#include <vector>

#include "model/constant.hpp"
#include "model/limiter_share.hpp"
#include "model/occupancy.hpp"
#include "model/prediction.hpp"
#include "model/rates.hpp"
#include "model/residency.hpp"
#include "model/waves.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Terms in the order in which they first appear. Names outlive the prediction's making.
struct Terms {
    std::vector<std::pair<std::string_view, double>> list;
    double longest = 0, clock = 0;  // of the launches: seconds of the longest one, and its clock
    double scheduled = 0;           // seconds of all schedules
    double idle = 0;                // of these, those in which a unit is empty

    [[nodiscard]] double sum() const {
        double seconds = 0;
        for (const auto& term : list) {
            seconds += term.second;
        }
        return seconds;
    }

    void add(std::string_view name, double seconds) {
        if (seconds <= 0) {
            return;
        }
        for (auto& [known, total] : list) {
            if (known == name) {
                total += seconds;
                return;
            }
        }
        list.emplace_back(name, seconds);
    }
};

// What one launch costs before its first CTA runs. On a CPU every launch opens a parallel region.
double launch_floor(const Device& device, const LaunchCase& how) {
    if (device.kind == DeviceKind::cpu) {
        return known_seconds(device, "floor.parallel_region");
    }
    require(how.launch_path == "stream" || how.launch_path == "graph", Status::invalid_argument,
            "launch path '{}' is unknown on {}; stream and graph are accepted", how.launch_path,
            device.id);
    return known_seconds(device,
                         how.launch_path == "graph" ? "floor.launch_graph" : "floor.launch_stream");
}

// What a launch behind another one of `seconds` costs. The host sends it while the first one runs,
// so that in a stream, too, only the device's own gap is left of a floor that the first one
// outlasts.
double following_floor(const Device& device, const LaunchCase& how, double floor, double seconds) {
    if (device.kind == DeviceKind::cpu || how.launch_path != "stream") {
        return floor;
    }
    const double gap = known_seconds(device, "floor.launch_graph");
    return std::max(gap > 0 ? std::min(gap, floor) : floor, floor - seconds);
}

Layout layout_of(const Device& device, const Counts& counts, const LaunchCase& how) {
    int units = std::max(1, device.units);
    if (device.kind == DeviceKind::cpu && how.threads > 0) {
        units = std::min(units, how.threads);
    }
    return {.ctas = counts.ctas,
            .slots = slots(units, occupancy(device, counts), counts.cluster),
            .units = units,
            .imbalance = std::max(1.0, counts.imbalance),
            .balanced_order = counts.balanced_order};
}

// The share of a schedule in which a unit, on average, holds no CTA, if all begin at once. CTAs go
// to empty units first.
double idle_share(const Layout& layout) {
    const auto units = static_cast<double>(layout.units);
    const auto filled = [&](std::int64_t ctas) {
        return std::min(1.0, static_cast<double>(ctas) / units);
    };
    const std::int64_t before_last = (layout.ctas - 1) / layout.slots;
    if (before_last == 0) {
        // A unit of one CTA is done when this one is, and the launch when the heaviest one is.
        return 1 - filled(layout.ctas) / (layout.ctas <= layout.units ? layout.imbalance : 1);
    }
    const auto whole = static_cast<double>(before_last);
    return (1 - filled(layout.ctas - before_last * layout.slots)) / (whole + 1);
}

// Seconds in which a unit, on average, holds no CTA. Those that are given one begin one after
// another, and each is empty for about as long as a CTA takes to start (`start`, seconds): in 45
// profiled grids, SMs that had work until the end held no CTA for 0.1 to 0.3 us.
double idle_seconds(const Layout& layout, double start, double seconds) {
    const double empty = idle_share(layout);
    return empty * seconds + (1 - empty) * std::min(seconds, start);
}

// Latency is what the schedule takes longer than if every load were there when it is needed.
// Returns the launch's seconds, floors left out.
double add_launch(const Device& device, const Counts& counts, const LaunchCase& how,
                  double warm_hits, Terms& terms) {
    const LaunchCosts costs = launch_costs(device, counts, warm_hits);
    const Layout layout = layout_of(device, counts, how);
    const ScheduleTime busy = schedule_time(costs, layout, false);
    const ScheduleTime real = schedule_time(costs, layout, true);
    const double start = known_seconds(device, "floor.cta");
    terms.add("launch.cta", busy.waves * start);
    for (std::size_t i = 0; i < costs.resources; ++i) {
        terms.add(costs.names[i], busy.by_resource[i]);
    }
    terms.add("tail", busy.tail);
    terms.add("latency", real.ideal + real.tail - busy.ideal - busy.tail);
    const double seconds = real.ideal + real.tail;
    if (seconds >= terms.longest) {
        terms.longest = seconds;
        terms.clock = costs.clock;
    }
    terms.scheduled += seconds;
    terms.idle += idle_seconds(layout, start, seconds);
    return seconds;
}

// A resource limits if it decides for most of the time behind the launch; else what is waited for
// does, if that is most of the rest. The parts of launching count as one, and limit if they take
// longer than the resource. What is waited for is the tail where units hold no CTA for so long that
// counters would say so, else latency.
std::string_view limiter_of(const Terms& terms) {
    struct Largest {
        std::string_view name = "launch";
        double seconds = 0;
        void take(std::string_view other, double its) {
            if (its > seconds) {
                *this = {other, its};
            }
        }
    };
    Largest resource, waiting;
    double all = 0, launching = 0;
    for (const auto& [name, seconds] : terms.list) {
        all += seconds;
        if (name.starts_with("launch")) {
            launching += seconds;
        } else if (name == "latency" || name == "tail") {
            waiting.take(name, seconds);
        } else {
            resource.take(name, seconds);
        }
    }
    waiting.take("launch", launching);
    const bool waits =
        waiting.seconds >= (all - resource.seconds) / 2 || waiting.seconds > resource.seconds;
    const bool busy =
        resource.seconds >= limiter_share * (all - launching) && resource.seconds >= launching;
    const bool by_resource = resource.seconds > 0 && (busy || !waits);
    if (by_resource || waiting.name == "launch") {
        return by_resource ? resource.name : waiting.name;
    }
    return terms.idle > idle_limit * terms.scheduled ? "tail" : "latency";
}

Terms terms_of(const Device& device, std::span<const Counts> launches, const LaunchCase& how) {
    const double warm_hits = how.cold ? 0 : hits_of(device, call_footprint(launches), true);
    Terms terms;
    terms.list.reserve(16);
    const double floor = launch_floor(device, how);
    double before = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) {
        i == 0 ? terms.add("launch", floor)
               : terms.add("launch.extra", following_floor(device, how, floor, before));
        before = launches[i].ctas > 0 ? add_launch(device, launches[i], how, warm_hits, terms) : 0;
    }
    return terms;
}

}  // namespace

LimitedTime predict_time(const Device& device, std::span<const Counts> launches,
                         const LaunchCase& how) {
    const Terms terms = terms_of(device, launches, how);
    return {terms.sum(), limiter_of(terms)};
}

Prediction predict(const Device& device, std::span<const Counts> launches, const LaunchCase& how) {
    Prediction prediction;
    prediction.layer1 = roofline(device, launches);
    const Terms terms = terms_of(device, launches, how);
    prediction.seconds = terms.sum();
    prediction.limiter = limiter_of(terms);
    prediction.layer2.assign(terms.list.begin(), terms.list.end());
    prediction.rates_id = device.rates_id;
    prediction.sm_clock_hz = terms.clock > 0                 ? terms.clock
                             : device.sustained_clock_hz > 0 ? device.sustained_clock_hz
                                                             : device.clock_hz;
    prediction.model_hash = build_info::model_hash();
    return prediction;
}

}  // namespace raceline

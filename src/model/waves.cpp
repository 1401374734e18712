// SPDX-License-Identifier: Apache-2.0
#include "model/waves.hpp"

#include <algorithm>

#include "model/overlap.hpp"
#include "model/residents.hpp"
#include "support/rounding.hpp"

namespace raceline {
namespace {

void scale(Seconds& seconds, double factor) {
    for (double& value : seconds) {
        value *= factor;
    }
}

// The tail of unequal CTAs on top of equal ones. Sizes are taken to be spread evenly around the
// mean, from 2 - imbalance to imbalance times it, as under a causal mask. Handed out in order, the
// heaviest may come last and ends (imbalance - 1) × mean after its wave. Longest first or
// dynamically, the gaps are filled by the lightest CTAs, and no launch beats its heaviest CTA.
double makespan(double equal, double ideal, double heaviest, const Layout& layout) {
    if (layout.balanced_order) {
        const double lightest = std::max(0.0, 2 - layout.imbalance);
        return std::max(ideal + lightest * (equal - ideal), heaviest);
    }
    return equal + heaviest * (1 - 1 / layout.imbalance);
}

// The heaviest CTA of a unit, which takes `seconds_among(n)` with n there, `together` with all
// `residents`: it meets them until the lightest is done, then evenly fewer.
template <class SecondsAmong>
double heaviest_among(const SecondsAmong& seconds_among, double together, std::int64_t residents,
                      double imbalance) {
    const double all_there = std::max(0.0, 2 - imbalance) / imbalance;
    if (all_there == 1) {
        return together;
    }
    double fewer = 0;
    for (std::int64_t n = 1; n <= residents; ++n) {
        fewer += seconds_among(n) / static_cast<double>(residents);
    }
    return all_there * together + (1 - all_there) * fewer;
}

}  // namespace

SerialTime serial_time(const LaunchCosts& costs, std::int64_t units, bool with_latency,
                       std::int64_t residents) {
    SerialTime result;
    bool reads = false;  // some step so far
    for (const StepCosts& step : costs.steps) {
        Seconds seconds{};
        for (std::size_t i = 0; i < costs.resources; ++i) {
            seconds[i] = step.costs.with_units(i, units);
        }
        if (with_latency) {
            seconds[dram_index] =
                std::max(seconds[dram_index], step.costs.dram_read_bytes * costs.latency_per_byte);
        }
        const StepTime one =
            step_time({seconds.data(), costs.resources}, {costs.beside.data(), costs.resources});
        for (std::size_t i = 0; i < costs.resources; ++i) {
            result.by_resource[i] += (one.chain >> i & 1) != 0 ? step.repeat * seconds[i] : 0;
        }
        const double all =
            step.repeat *
            (with_latency ? std::max(one.seconds, step.chain_seconds(residents)) + step.wait_seconds
                          : one.seconds);
        result.seconds += all;
        // Of a loop over several steps one turn is left.
        const double once = step.in_a_row ? all : all / std::max(1.0, step.repeat);
        if (!reads) {  // nothing comes until the first reads do
            result.before_memory += step.streams && with_latency ? step.wait_seconds : 0;
        }
        reads = reads || step.streams;
        result.before_memory += reads ? 0 : once;
        result.after_memory = step.streams ? 0 : result.after_memory + once;
    }
    if (!reads) {
        result.before_memory = result.after_memory = 0;
    }
    return result;
}

double resident_seconds(double serial, double busy, std::int64_t residents) {
    const double delay = std::max(0.0, serial - busy);
    double response = std::max(serial, busy);
    double queue = 0;
    for (std::int64_t n = 1; n <= residents; ++n) {
        const double at_queue = busy * (1 + queue);
        response = at_queue + delay;
        queue = response > 0 ? static_cast<double>(n) * at_queue / response : 0;
    }
    return response;
}

double heaviest_seconds(double serial, double busy, std::int64_t residents, double imbalance) {
    const auto among = [&](std::int64_t n) { return resident_seconds(serial, busy, n); };
    return heaviest_among(among, among(residents), residents, imbalance);
}

WaveTime wave_time(const LaunchCosts& costs, const Layout& layout, std::int64_t ctas,
                   bool with_latency) {
    const std::int64_t units = std::min(ctas, layout.units);
    const std::int64_t residents = divide_up(ctas, layout.units);
    const auto on_fullest = static_cast<double>(residents);
    const SerialTime serial = serial_time(costs, units, with_latency);
    double busiest = 0;  // of the average CTA, on a resource that its unit has to itself
    for (std::size_t i = 0; with_latency && i < costs.resources; ++i) {
        busiest = costs.shared[i] ? busiest : std::max(busiest, costs.mean.with_units(i, units));
    }
    WaveTime wave;
    wave.serial_heaviest = serial.seconds;
    wave.idle_seconds = serial.before_memory + serial.after_memory;
    wave.seconds = serial.seconds / layout.imbalance;
    const bool counted = std::any_of(costs.steps.begin(), costs.steps.end(),
                                     [](const StepCosts& s) { return s.chain_seconds(1) > 0; });
    if (with_latency && costs.together) {
        const auto among = [&](std::int64_t n) {
            return serial_time(costs, units, true, n).seconds;
        };
        const double together = among(residents);
        wave.seconds = together / layout.imbalance;
        wave.serial_heaviest = heaviest_among(among, together, residents, layout.imbalance);
    } else if (with_latency && costs.warps > 0) {
        const auto among = [&](std::int64_t n) { return warps_in_line_seconds(costs, units, n); };
        const double together = among(residents);
        wave.seconds = together / layout.imbalance;
        wave.serial_heaviest = heaviest_among(among, together, residents, layout.imbalance);
    } else if (with_latency && counted && residents > 1) {
        wave.seconds = resident_seconds(wave.seconds, busiest, residents);
        wave.serial_heaviest = heaviest_seconds(serial.seconds, busiest * layout.imbalance,
                                                residents, layout.imbalance);
    }
    wave.by_resource = serial.by_resource;
    scale(wave.by_resource, 1 / layout.imbalance);
    for (std::size_t i = 0; i < costs.resources; ++i) {
        // A shared resource serves whichever unit asks: units that have less to do leave it to
        // others.
        const double all = static_cast<double>(ctas) * costs.mean.device[i];
        const double busy = costs.shared[i] ? std::max(on_fullest * costs.mean.alone[i], all)
                                            : on_fullest * costs.mean.with_units(i, units);
        wave.shared_seconds =
            costs.shared[i] ? std::max(wave.shared_seconds, all) : wave.shared_seconds;
        if (busy > wave.seconds) {
            wave.seconds = busy;
            wave.by_resource = {};
            wave.by_resource[i] = busy;
        }
    }
    return wave;
}

ScheduleTime schedule_time(const LaunchCosts& costs, const Layout& layout, bool with_latency) {
    const std::int64_t full = layout.ctas / layout.slots;
    const std::int64_t rest = layout.ctas % layout.slots;
    ScheduleTime result;
    result.waves = static_cast<double>(full + (rest > 0 ? 1 : 0));
    const WaveTime last = rest > 0 ? wave_time(costs, layout, rest, with_latency) : WaveTime{};
    const WaveTime whole =
        full > 0 ? wave_time(costs, layout, layout.slots, with_latency) : WaveTime{};
    const WaveTime& typical = full > 0 ? whole : last;

    const double equal = static_cast<double>(full) * whole.seconds + last.seconds;
    // A launch of less than one wave fills as many CTAs a unit as its fullest unit has.
    const std::int64_t filled = full > 0 ? layout.slots : round_up(rest, layout.units);
    const double used = static_cast<double>(layout.ctas) / static_cast<double>(filled);
    const double shared =
        typical.shared_seconds *
        (full > 0 ? static_cast<double>(layout.ctas) / static_cast<double>(layout.slots) : 1);
    result.ideal = std::min(equal, std::max(used * typical.seconds, shared));
    result.tail = makespan(equal, result.ideal, typical.serial_heaviest, layout) - result.ideal;
    if (with_latency && typical.idle_seconds > 0) {
        const double dram_seconds =
            static_cast<double>(layout.ctas) * costs.mean.device[dram_index];
        result.tail = std::max(result.tail, dram_seconds + typical.idle_seconds - result.ideal);
    }
    result.by_resource = typical.by_resource;
    if (typical.seconds > 0) {
        scale(result.by_resource, result.ideal / typical.seconds);
    }
    return result;
}

}  // namespace raceline

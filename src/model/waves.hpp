// SPDX-License-Identifier: Apache-2.0
// From one CTA's time to a launch's: sharing of a unit, waves, imbalance and tail.
#pragma once

#include <cstdint>

#include "model/costs.hpp"

namespace raceline {

/// How the CTAs of a launch lie on the device.
struct Layout {
    std::int64_t ctas = 1;
    std::int64_t slots = 1;  ///< CTAs held at once
    std::int64_t units = 1;
    double imbalance = 1;
    bool balanced_order = false;
};

/// One CTA from start to end, alone on its unit, `units` units at work: the sum over its steps of
/// repeat × step_time(max(work / what a unit reaches alone, units × work / ceiling)). The heaviest.
struct SerialTime {
    double seconds = 0;
    /// Before the first step that reads DRAM, with the latency that this one waits for, and behind
    /// the last one, where steps name those reads; of a step whose repeats do not stand in a row
    /// one, since the others may lie between reads.
    double before_memory = 0, after_memory = 0;
    Seconds by_resource{};  ///< of the chains; without latency they sum to seconds
};
/// `with_latency` adds each step's wait, holds a step to its chain of dependent instructions and
/// DRAM reads to bytes in flight / latency. With `residents` on the unit chains are as long as the
/// kernel says; where it does not say, as for one.
SerialTime serial_time(const LaunchCosts& costs, std::int64_t units, bool with_latency,
                       std::int64_t residents = 1);

/// Seconds in which each of `residents` CTAs of a unit is done, if one alone takes `serial`, of
/// which `busy` on the unit's busiest resource, which serves one at a time. Mean-value analysis of
/// a closed queueing network (Reiser and Lavenberg, JACM 27(2), 1980) with one queue and a delay
/// of serial - busy: response(n) = busy × (1 + queue(n - 1)) + delay, queue(n) = n × busy × (1 +
/// queue(n - 1)) / response(n). Never under max(serial, residents × busy), and equal to it where
/// there is no delay: few residents cannot hide each other's latency perfectly.
double resident_seconds(double serial, double busy, std::int64_t residents);

/// Mean of resident_seconds over what the heaviest CTA of a unit meets: `residents` others of its
/// kind until the lightest (2 - imbalance of the mean) is done, then evenly fewer.
double heaviest_seconds(double serial, double busy, std::int64_t residents, double imbalance);

/// `ctas` CTAs at once: the largest of
/// - one average CTA's serial time; with latency, and where the kernel counts its chains, stretched
///   by the residents (resident_seconds),
/// - CTAs on the fullest unit × the average CTA's busiest resource of a unit,
/// - all of them × the busiest shared resource (DRAM, last-level cache) at its ceiling.
struct WaveTime {
    double seconds = 0;
    double shared_seconds = 0;  ///< the last of the three
    double idle_seconds =
        0;  ///< of DRAM, in the serial time, before the first read and after the last
    double serial_heaviest = 0;
    Seconds by_resource{};  ///< of the largest; sums to seconds where latency is left out
};
WaveTime wave_time(const LaunchCosts& costs, const Layout& layout, std::int64_t ctas,
                   bool with_latency);

/// All waves. With latency no launch beats its DRAM time with what its first CTA does before it
/// reads and its last one when it has read: memory is idle in both (SerialTime). `ideal` is what
/// the same work takes if no slot is ever empty; `tail` the rest: the partly filled last wave,
/// units without a CTA, and CTAs heavier than the average.
struct ScheduleTime {
    double ideal = 0;
    double tail = 0;
    double waves = 0;       ///< whole waves, the last one counted as whole
    Seconds by_resource{};  ///< sums to ideal where latency is left out
};
ScheduleTime schedule_time(const LaunchCosts& costs, const Layout& layout, bool with_latency);

}  // namespace raceline

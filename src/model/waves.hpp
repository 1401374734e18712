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
    Seconds by_resource{};  ///< of the chains; without latency they sum to seconds
};
/// `with_latency` adds each step's wait and holds DRAM reads to bytes in flight / latency.
SerialTime serial_time(const LaunchCosts& costs, std::int64_t units, bool with_latency);

/// `ctas` CTAs at once: the largest of
/// - one average CTA's serial time,
/// - CTAs on the fullest unit × the average CTA's busiest resource of a unit,
/// - all of them × the busiest shared resource (DRAM, last-level cache) at its ceiling.
struct WaveTime {
    double seconds = 0;
    double shared_seconds = 0;  ///< the last of the three
    double serial_heaviest = 0;
    Seconds by_resource{};  ///< of the largest; sums to seconds where latency is left out
};
WaveTime wave_time(const LaunchCosts& costs, const Layout& layout, std::int64_t ctas,
                   bool with_latency);

/// All waves. `ideal` is what the same work takes if no slot is ever empty; `tail` the rest: the
/// partly filled last wave, units without a CTA, and CTAs heavier than the average.
struct ScheduleTime {
    double ideal = 0;
    double tail = 0;
    double waves = 0;       ///< whole waves, the last one counted as whole
    Seconds by_resource{};  ///< sums to ideal where latency is left out
};
ScheduleTime schedule_time(const LaunchCosts& costs, const Layout& layout, bool with_latency);

}  // namespace raceline

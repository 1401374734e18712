// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "support/json.hpp"
#include "timing/stop_rule.hpp"

namespace raceline {

/// One timed case, in the receipt's names.
struct Measurement {
    double seconds_median = 0;
    double seconds_low = 0;  ///< 95 % interval of the median
    double seconds_high = 0;
    double seconds_call = 0;  ///< what a host pays for one call; on a CPU = seconds_median
    int samples = 0;
    double sm_clock_hz = 0;  ///< median over the samples; 0: not known
    double power_w = 0;      ///< median over the samples; 0: not known
    bool settled = false;
    bool throttled = false;
};
Json measurement_to_json(const Measurement& measurement);
Measurement measurement_from_json(const Json& object);
/// Median, interval and count from raw samples; clocks and power stay zero.
Measurement summarize(const std::vector<double>& samples);

/// Core clock in Hz from a chain of dependent adds timed for about `seconds` on this thread (one
/// add a cycle on every current core). GPU clocks come from NVML instead.
double cpu_clock_hz(double seconds = 0.002);

/// Seconds of a monotonic clock.
double monotonic_seconds();

/// A CPU timing loop: `prepare(i)` is untimed (pick the i-th input set, flush), `call(i)` is timed.
/// Clocks the core between samples. First calls warm up and are not samples.
Measurement time_on_cpu(const std::function<void(int)>& prepare,
                        const std::function<void(int)>& call, const StopLimits& limits);

}  // namespace raceline

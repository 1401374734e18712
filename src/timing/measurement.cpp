// SPDX-License-Identifier: Apache-2.0
#include "timing/measurement.hpp"

#include <nlohmann/json.hpp>

#include "support/check.hpp"
#include "support/statistics.hpp"

namespace raceline {

Json measurement_to_json(const Measurement& m) {
    return Json{{"seconds_median", m.seconds_median},
                {"seconds_low", m.seconds_low},
                {"seconds_high", m.seconds_high},
                {"seconds_call", m.seconds_call},
                {"samples", m.samples},
                {"sm_clock_hz", m.sm_clock_hz},
                {"power_w", m.power_w},
                {"settled", m.settled},
                {"throttled", m.throttled}};
}

Measurement measurement_from_json(const Json& object) {
    require(object.is_object(), Status::corrupt, "a measurement must be an object, got {}",
            object.type_name());
    Measurement m;
    m.seconds_median = object.at("seconds_median").get<double>();
    m.seconds_low = object.at("seconds_low").get<double>();
    m.seconds_high = object.at("seconds_high").get<double>();
    m.seconds_call = object.at("seconds_call").get<double>();
    m.samples = object.at("samples").get<int>();
    m.sm_clock_hz = object.at("sm_clock_hz").get<double>();
    m.power_w = object.at("power_w").get<double>();
    m.settled = object.value("settled", false);
    m.throttled = object.value("throttled", false);
    return m;
}

Measurement summarize(const std::vector<double>& samples) {
    Measurement m;
    m.seconds_median = median(samples);
    const Interval interval = median_interval(samples);
    m.seconds_low = interval.low;
    m.seconds_high = interval.high;
    m.seconds_call = m.seconds_median;
    m.samples = static_cast<int>(samples.size());
    return m;
}

Measurement time_on_cpu(const std::function<void(int)>& prepare,
                        const std::function<void(int)>& call, const StopLimits& limits) {
    int index = 0;
    double one_call = 0;
    // Two calls warm up code, page tables and the thread pool; a slow call needs no more.
    for (int i = 0; i < 2; ++i, ++index) {
        prepare(index);
        const double begin = monotonic_seconds();
        call(index);
        one_call = monotonic_seconds() - begin;
    }
    StopRule rule(limits);
    std::vector<double> clocks;
    double since_clock = 0;
    while (!rule.done()) {
        prepare(index);
        const double begin = monotonic_seconds();
        call(index);
        const double seconds = monotonic_seconds() - begin;
        rule.add(seconds);
        since_clock += seconds;
        // Reading the clock costs a millisecond: once in fifty of work, and at least once.
        if (clocks.empty() || since_clock > 0.05) {
            clocks.push_back(cpu_clock_hz(0.001));
            since_clock = 0;
        }
        ++index;
    }
    Measurement m = summarize(rule.samples());
    m.sm_clock_hz = median(clocks);
    m.settled = rule.settled();
    m.throttled = one_call <= 0;  // a clock that stands still is no measurement
    return m;
}

}  // namespace raceline

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
                {"disturbed", m.disturbed},
                {"unsettled", m.unsettled},
                {"disturbance", m.disturbance},
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
    // Rows of schema 1 have neither; their interval says whether they had settled.
    m.disturbed = object.value("disturbed", 0);
    m.unsettled = object.value("unsettled", is_wide(m));
    m.disturbance = object.value("disturbance", "");
    m.sm_clock_hz = object.at("sm_clock_hz").get<double>();
    m.power_w = object.at("power_w").get<double>();
    m.settled = object.value("settled", false);
    m.throttled = object.value("throttled", false);
    return m;
}

bool is_wide(const Measurement& m) {
    return !(m.seconds_high - m.seconds_low <= settled_width * m.seconds_median);
}

Measurement summarize(const std::vector<double>& samples) {
    Measurement m;
    m.seconds_median = median(samples);
    const Interval interval = median_interval(samples);
    m.seconds_low = interval.low;
    m.seconds_high = interval.high;
    m.seconds_call = m.seconds_median;
    m.samples = static_cast<int>(samples.size());
    m.unsettled = is_wide(m);
    return m;
}

void SampleLog::add(double seconds, bool disturbed, const Usage& seen) {
    (disturbed ? dropped_ : kept_).push_back(seconds);
    if (disturbed) {
        seen_ += seen;
    }
}

Measurement SampleLog::summary() const {
    constexpr std::size_t fewest = 3;
    const bool enough = kept_.size() >= fewest;
    std::vector<double> all = kept_;
    if (!enough) {
        all.insert(all.end(), dropped_.begin(), dropped_.end());
    }
    Measurement m = summarize(all);
    m.disturbed = disturbed();
    m.unsettled = m.unsettled || !enough;
    if (m.disturbed > 0) {
        m.disturbance = fmt::format("{} of {} samples were disturbed: {}", m.disturbed,
                                    kept_.size() + dropped_.size(), describe(seen_));
    } else if (m.unsettled) {
        m.disturbance = fmt::format(
            "the median's interval is {:.0f} % of it, though nothing was seen to disturb its {} "
            "samples",
            100 * (m.seconds_high - m.seconds_low) / m.seconds_median, m.samples);
    }
    return m;
}

}  // namespace raceline

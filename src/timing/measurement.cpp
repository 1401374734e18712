// SPDX-License-Identifier: Apache-2.0
#include "timing/measurement.hpp"

#include <fmt/format.h>

#include "support/check.hpp"
#include "support/statistics.hpp"
#include "support/text_table.hpp"

namespace raceline {

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
    } else if (!enough) {
        m.disturbance = fmt::format("{} {} too few to tell how noisy {}; at least {} are needed",
                                    counted_text(static_cast<std::size_t>(m.samples), "sample"),
                                    m.samples == 1 ? "is" : "are",
                                    m.samples == 1 ? "it is" : "they are", fewest);
    } else if (m.unsettled) {
        m.disturbance = fmt::format(
            "the median's interval is {} of it, though nothing was seen to disturb its {}",
            format_percent((m.seconds_high - m.seconds_low) / m.seconds_median),
            counted_text(static_cast<std::size_t>(m.samples), "sample"));
    }
    return m;
}

}  // namespace raceline

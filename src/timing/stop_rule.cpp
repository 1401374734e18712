// SPDX-License-Identifier: Apache-2.0
#include "timing/stop_rule.hpp"

#include <cmath>

#include "support/check.hpp"
#include "support/statistics.hpp"

namespace raceline {

void StopRule::add(std::span<const double> seconds) {
    require(seconds.size() == samples_.size(), Status::internal,
            "a round of {} samples for {} series; it must have one of each", seconds.size(),
            samples_.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        samples_[i].push_back(seconds[i]);
        totals_[i] += seconds[i];
        total_ += seconds[i];
    }
}

void StopRule::drop(std::span<const double> seconds) {
    for (const double one : seconds) {
        dropped_ += one;
    }
    ++drops_;
}

bool StopRule::settled(std::size_t series) const {
    const std::vector<double>& samples = samples_[series];
    if (static_cast<int>(samples.size()) < limits_.min_samples ||
        totals_[series] < limits_.min_seconds) {
        return false;
    }
    const double middle = median(samples);
    const Interval interval = median_interval(samples);
    const double half_width = (interval.high - interval.low) / 2;
    if (half_width > limits_.relative_half_width * middle) {
        return false;
    }
    // A narrow interval alone is fooled by drift (a clock still ramping): both halves must agree.
    const std::span<const double> all(samples);
    const double first = median(all.first(all.size() / 2));
    const double second = median(all.subspan(all.size() / 2));
    return std::abs(first - second) <= 2 * limits_.relative_half_width * middle;
}

bool StopRule::all_settled() const {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        if (!settled(i)) {
            return false;
        }
    }
    return true;
}

bool StopRule::done() const {
    const int count = static_cast<int>(samples_.front().size());
    if (count >= limits_.max_samples) {
        return true;
    }
    const double most = limits_.max_seconds * static_cast<double>(samples_.size());
    // Where nearly everything is disturbed it does not get better by waiting.
    if (drops_ >= 3 && dropped_ >= limits_.max_dropped * most) {
        return true;
    }
    // The interval is sorted from scratch: looking at every 8th sample keeps that off the profile.
    const bool look = count < 32 || count % 8 == 0;
    const bool enough_time = total_ >= most && count >= 3;
    return enough_time || (look && all_settled());
}

}  // namespace raceline

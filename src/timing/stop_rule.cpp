// SPDX-License-Identifier: Apache-2.0
#include "timing/stop_rule.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#include "support/statistics.hpp"

namespace raceline {

void StopRule::add(double seconds) {
    samples_.push_back(seconds);
    total_ += seconds;
}

void StopRule::drop(double seconds) {
    dropped_ += seconds;
    ++drops_;
}

bool StopRule::settled() const {
    if (static_cast<int>(samples_.size()) < limits_.min_samples || total_ < limits_.min_seconds) {
        return false;
    }
    const double middle = median(samples_);
    const Interval interval = median_interval(samples_);
    const double half_width = (interval.high - interval.low) / 2;
    if (half_width > limits_.relative_half_width * middle) {
        return false;
    }
    // A narrow interval alone is fooled by drift (a clock still ramping): both halves must agree.
    const std::span<const double> all(samples_);
    const double first = median(all.first(all.size() / 2));
    const double second = median(all.subspan(all.size() / 2));
    return std::abs(first - second) <= 2 * limits_.relative_half_width * middle;
}

bool StopRule::done() const {
    const int count = static_cast<int>(samples_.size());
    if (count >= limits_.max_samples) {
        return true;
    }
    // Where nearly everything is disturbed it does not get better by waiting.
    if (drops_ >= 3 && dropped_ >= limits_.max_dropped * limits_.max_seconds) {
        return true;
    }
    // The interval is sorted from scratch: looking at every 8th sample keeps that off the profile.
    const bool look = count < 32 || count % 8 == 0;
    const bool enough_time = total_ >= limits_.max_seconds && count >= 3;
    return enough_time || (look && settled());
}

}  // namespace raceline

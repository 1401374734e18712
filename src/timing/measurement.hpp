// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "receipt/values.hpp"
#include "timing/disturbance.hpp"

namespace raceline {

/// Median, interval and count from raw samples; clocks and power stay zero. Unsettled if the
/// interval is too wide.
Measurement summarize(const std::vector<double>& samples);

/// Samples that count and those that were dropped, with what was seen while each was taken.
class SampleLog {
public:
    void add(double seconds, bool disturbed, const Usage& seen);
    [[nodiscard]] const std::vector<double>& kept() const { return kept_; }
    [[nodiscard]] int disturbed() const { return static_cast<int>(dropped_.size()); }
    /// Of the samples that count; of all, unsettled, where too few are left.
    [[nodiscard]] Measurement summary() const;

private:
    std::vector<double> kept_, dropped_;
    Usage seen_;
};

/// Core clock in Hz from a chain of dependent adds timed for about `seconds` on this thread (one
/// add a cycle on every current core). GPU clocks come from NVML instead.
double cpu_clock_hz(double seconds = 0.002);

/// Seconds of a monotonic clock.
double monotonic_seconds();

}  // namespace raceline

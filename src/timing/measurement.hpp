// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "timing/disturbance.hpp"

namespace raceline {

/// One timed case, in the receipt's names.
struct Measurement {
    double seconds_median = 0;
    double seconds_low = 0;  ///< 95 % interval of the median
    double seconds_high = 0;
    double seconds_call = 0;  ///< what a host pays for one call; on a CPU = seconds_median
    int samples = 0;          ///< that count
    int disturbed = 0;  ///< that were dropped: something else had the cores, or slowed the device
    /// The interval is wider than 10 % of the median, or too few samples were left: no accuracy,
    /// band or comparison may use this.
    bool unsettled = false;
    std::string disturbance;  ///< what disturbed it, in a sentence; empty: nothing
    double sm_clock_hz = 0;   ///< median over the samples; 0: not known
    double power_w = 0;       ///< median over the samples; 0: not known
    bool settled = false;
    bool throttled = false;
};
Json measurement_to_json(const Measurement& measurement);
Measurement measurement_from_json(const Json& object);
/// Median, interval and count from raw samples; clocks and power stay zero. Unsettled if the
/// interval is too wide.
Measurement summarize(const std::vector<double>& samples);
/// The widest interval of a settled row, as a part of its median.
inline constexpr double settled_width = 0.1;
bool is_wide(const Measurement& measurement);

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

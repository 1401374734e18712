// SPDX-License-Identifier: Apache-2.0
// When a measurement has seen enough. Knows neither kernels nor clocks.
#pragma once

#include <vector>

namespace raceline {

/// Limits of one measurement.
struct StopLimits {
    double relative_half_width = 0.01;  ///< settled: half of the median's 95 % interval / median
    int min_samples = 11;
    int max_samples = 2000;
    double min_seconds = 0.02;  ///< of timed work
    double max_seconds = 1.0;   ///< of timed work: stop unsettled after this
    double max_dropped = 0.5;   ///< of dropped samples, as a part of max_seconds
};

/// Add samples until `done`. Settled means that the interval of the median is narrow enough and
/// that the medians of the first and second half agree within it.
class StopRule {
public:
    explicit StopRule(StopLimits limits) : limits_(limits) {}
    void add(double seconds);
    /// A sample that does not count, but took its time.
    void drop(double seconds);
    [[nodiscard]] bool done() const;
    [[nodiscard]] bool settled() const;
    [[nodiscard]] const std::vector<double>& samples() const { return samples_; }

private:
    StopLimits limits_;
    std::vector<double> samples_;
    double total_ = 0, dropped_ = 0;
    int drops_ = 0;
};

}  // namespace raceline

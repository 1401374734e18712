// SPDX-License-Identifier: Apache-2.0
// When a measurement has seen enough. Knows neither kernels nor clocks.
#pragma once

#include <cstddef>
#include <span>
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

/// Add rounds until `done`; a round is one sample of each series, of which there is one unless
/// several contenders take turns. Settled means that the interval of the median is narrow enough
/// and that the medians of the first and second half agree within it.
class StopRule {
public:
    explicit StopRule(StopLimits limits, std::size_t series = 1)
        : limits_(limits), samples_(series), totals_(series) {}
    void add(std::span<const double> seconds);
    void add(double seconds) { add(std::span(&seconds, 1)); }
    /// A round that does not count, but took its time.
    void drop(std::span<const double> seconds);
    void drop(double seconds) { drop(std::span(&seconds, 1)); }
    /// All series have settled, or a limit is reached. Limits of time are those of one series times
    /// their number: a slow one does not have to wait until a fast one has used up its share.
    [[nodiscard]] bool done() const;
    [[nodiscard]] bool settled(std::size_t series = 0) const;

private:
    [[nodiscard]] bool all_settled() const;

    StopLimits limits_;
    std::vector<std::vector<double>> samples_;  // of each series
    std::vector<double> totals_;                // of each series
    double total_ = 0, dropped_ = 0;            // of all
    int drops_ = 0;
};

}  // namespace raceline

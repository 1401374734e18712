// SPDX-License-Identifier: Apache-2.0
// How long the rest of a run takes, from what its first cases took. Knows no kernel and no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace raceline {

/// Cases are thought to take `each + factor × predicted`: a time of its own for every one (inputs,
/// a gate, at least so many samples), and more for what is predicted to take long.
class Pace {
public:
    /// Seconds that the model gives each case, in the order in which they run; 0: it will not run.
    explicit Pace(std::vector<double> predicted) : predicted_(std::move(predicted)) {}

    /// The next case has ended, after so many seconds.
    void took(double seconds) { taken_.push_back(seconds); }

    /// Seconds for those that are left; nothing before the first that ran has ended.
    [[nodiscard]] std::optional<double> left() const;

private:
    std::vector<double> predicted_, taken_;
};

/// "40 s", "3 min", "1 h 10 min": as exact as a guess is.
std::string rough_duration(double seconds);

}  // namespace raceline

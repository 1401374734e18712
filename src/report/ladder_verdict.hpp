// SPDX-License-Identifier: Apache-2.0
// When a rung's prediction counts as a hit. The thresholds stand here and nowhere else, and stood
// before any rung was measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// A time is hit within 20 % of the measured one, a speed-up within 20 % of the measured one and on
/// the same side of 1; within 5 % of 1 a change has no effect.
inline constexpr double time_tolerance = 0.20;
inline constexpr double speedup_tolerance = 0.20;
inline constexpr double no_effect = 0.05;

/// One case of one rung on one device, beside the same case of its predecessor. 0: not known.
struct RungCase {
    std::string shape, tile;
    double predicted = 0, measured = 0;                ///< seconds
    double predicted_before = 0, measured_before = 0;  ///< of the predecessor
    double predicted_last = 0, measured_last = 0;      ///< of a later run, where there is one
    std::string limiter;                               ///< predicted
    std::string counted;  ///< by hardware counters; empty: not profiled
    bool passed = true;   ///< false: the gate refused it
    bool stale = false;   ///< the rung has changed since its last run

    [[nodiscard]] double speedup_predicted() const;  ///< over the predecessor; 0: not known
    [[nodiscard]] double speedup_measured() const;
};

bool time_hit(double predicted, double measured);
bool speedup_hit(double predicted, double measured);

/// Over all cases of a rung that were measured and correct.
struct RungScore {
    int cases = 0, wrong = 0;  ///< `wrong` failed the gate and count as nothing else
    double median_error = 0;   ///< of |predicted / measured - 1|
    int speedups = 0, speedup_hits = 0;
    int profiled = 0, limiter_hits = 0;

    /// "hit" if the median error is within tolerance and more than half of the speed-ups are hit,
    /// else what was missed: "missed: time", "missed: speed-up", "missed: time, speed-up"; "FAILED
    /// the gate" before all, "not run" without a case. The limiter is judged beside it.
    [[nodiscard]] std::string verdict() const;
};
RungScore score_rung(const std::vector<RungCase>& cases);

}  // namespace raceline

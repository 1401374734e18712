// SPDX-License-Identifier: Apache-2.0
// When a rung's prediction counts as a hit. The thresholds stand here and nowhere else, and stood
// before any rung was measured.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// A time is hit within 20 % of the measured one, a speed-up within 20 % of the measured one and on
/// the same side of 1; within 5 % of 1 a change has no effect.
inline constexpr double time_tolerance = 0.20;
inline constexpr double speedup_tolerance = 0.20;
inline constexpr double no_effect = 0.05;

/// What hardware counters said of one call, from a row of kind `counters`; bench/limiter.py holds
/// the rule by which they name the limiter. 0 or empty: not counted.
struct Counted {
    std::string limiter;
    std::map<std::string, double> busy;    ///< by resource: share of its sustained peak
    double seconds = 0;                    ///< of the call's launches, without their floors
    double dram_read = 0, dram_write = 0;  ///< bytes
    double bank_conflicts = 0;             ///< passes through shared memory that conflicts added
    double shared_passes = 0;              ///< all of them
    double ctas = 0, occupancy = 0;        ///< of the longest launch; share of an SM's warps
    std::string stall;                     ///< what most warps wait for
    std::string tile;
    std::string predicted_limiter;  ///< written before this very run
    double predicted_seconds = 0;
    std::map<std::string, double> layer1;  ///< predicted seconds by resource
};

/// One case of one rung on one device, beside the same case of its predecessor. 0: not known.
struct RungCase {
    std::string shape, tile;
    double predicted = 0, measured = 0;                ///< seconds
    double predicted_before = 0, measured_before = 0;  ///< of the predecessor
    double predicted_last = 0, measured_last = 0;      ///< of a later run, where there is one
    std::string limiter;                               ///< predicted
    std::optional<Counted> counted;                    ///< of the first run that was profiled
    bool passed = true;                                ///< false: the gate refused it
    bool stale = false;                                ///< the rung has changed since its last run
    bool first_sight = true;                           ///< false: measured before its first run
    std::string id, id_before;                         ///< of the rows with `measured`(`_before`)
    std::string left, left_before;                     ///< instead: files that left the tree
    std::string written, written_before;               ///< when, of the rows with these times

    [[nodiscard]] double speedup_predicted() const;  ///< over the predecessor; 0: not known
    [[nodiscard]] double speedup_measured() const;
};

bool time_hit(double predicted, double measured);
bool speedup_hit(double predicted, double measured);
/// Whether a predicted limiter is the one that counters name. The matrix engine is one, whatever
/// the instruction and the type. That no resource is busy is one, too: counters cannot tell whether
/// more CTAs (`tail`), more bytes in flight (`latency`) or fewer launches (`launch`) would help.
bool limiter_hit(std::string_view predicted, std::string_view counted);

/// The part of the time that prediction and counters disagree on most: a resource, whose counted
/// time is its busy share of the call, or `waiting`, in which not even the busiest one is at work.
struct WrongTerm {
    std::string name;
    double predicted = 0, counted = 0;  ///< seconds
};
WrongTerm wrong_term(const Counted& counted);

/// Over all cases of a rung that were measured and correct.
struct RungScore {
    int cases = 0, wrong = 0;  ///< `wrong` failed the gate and count as nothing else
    double median_error = 0;   ///< of |predicted / measured - 1|
    int speedups = 0, speedup_hits = 0;
    int profiled = 0, limiter_hits = 0;  ///< by the predictions before the profiled runs
    int limiter_hits_first = 0;          ///< by those before the first runs

    /// "hit" if the median error is within tolerance, more than half of the speed-ups are hit and,
    /// where any was profiled, more than half of the limiters; else what was missed: "missed: time,
    /// speed-up, limiter" or some of it; "FAILED the gate" before all, "not run" without a case.
    [[nodiscard]] std::string verdict() const;
};
RungScore score_rung(const std::vector<RungCase>& cases);

}  // namespace raceline

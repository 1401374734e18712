// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_verdict.hpp"

#include <algorithm>
#include <cmath>

#include "support/statistics.hpp"

namespace raceline {
namespace {

double ratio(double over, double under) {
    return over > 0 && under > 0 ? over / under : 0;
}

// Slower, no effect, faster.
int side(double speedup) {
    return speedup > 1 + no_effect ? 1 : speedup < 1 / (1 + no_effect) ? -1 : 0;
}

}  // namespace

double RungCase::speedup_predicted() const {
    return ratio(predicted_before, predicted);
}

double RungCase::speedup_measured() const {
    return ratio(measured_before, measured);
}

bool time_hit(double predicted, double measured) {
    return std::abs(predicted / measured - 1) <= time_tolerance;
}

bool speedup_hit(double predicted, double measured) {
    return side(predicted) == side(measured) &&
           std::abs(predicted / measured - 1) <= speedup_tolerance;
}

std::string RungScore::verdict() const {
    if (wrong > 0) {
        return "FAILED the gate";
    }
    if (cases == 0) {
        return "not run";
    }
    const bool time = median_error <= time_tolerance;
    const bool speedup = speedups == 0 || 2 * speedup_hits > speedups;
    if (time && speedup) {
        return "hit";
    }
    return std::string("missed: ") +
           (time      ? ""
            : speedup ? "time"
                      : "time, ") +
           (speedup ? "" : "speed-up");
}

RungScore score_rung(const std::vector<RungCase>& cases) {
    RungScore score;
    std::vector<double> errors;
    for (const RungCase& c : cases) {
        score.wrong += c.passed ? 0 : 1;
        if (!c.passed || c.measured <= 0 || c.predicted <= 0) {
            continue;
        }
        ++score.cases;
        errors.push_back(std::abs(c.predicted / c.measured - 1));
        if (c.speedup_predicted() > 0 && c.speedup_measured() > 0) {
            ++score.speedups;
            score.speedup_hits += speedup_hit(c.speedup_predicted(), c.speedup_measured()) ? 1 : 0;
        }
        if (!c.counted.empty()) {
            ++score.profiled;
            score.limiter_hits += c.counted == c.limiter ? 1 : 0;
        }
    }
    score.median_error = errors.empty() ? 0 : median(errors);
    return score;
}

}  // namespace raceline

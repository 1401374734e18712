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

std::string_view kind_of(std::string_view limiter) {
    if (limiter.starts_with("flop.wgmma.") || limiter.starts_with("flop.mma.")) {
        return "matrix engine";
    }
    const bool waits = limiter == "tail" || limiter == "latency" || limiter == "launch";
    return waits ? "waiting" : limiter;
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

bool limiter_hit(std::string_view predicted, std::string_view counted) {
    return kind_of(predicted) == kind_of(counted);
}

WrongTerm wrong_term(const Counted& counted) {
    WrongTerm wrong;
    double busiest = 0;
    double bound = 0;
    const auto consider = [&](const std::string& name, double predicted, double seen) {
        if (std::abs(predicted - seen) > std::abs(wrong.predicted - wrong.counted)) {
            wrong = {name, predicted, seen};
        }
    };
    for (const auto& [resource, share] : counted.busy) {
        busiest = std::max(busiest, share);
        const auto predicted = counted.layer1.find(resource);
        // What a rung does not declare, it does next to nothing of.
        consider(resource, predicted == counted.layer1.end() ? 0 : predicted->second,
                 share * counted.seconds);
    }
    for (const auto& [resource, seconds] : counted.layer1) {
        bound = std::max(bound, seconds);
    }
    consider("waiting", std::max(0.0, counted.predicted_seconds - bound),
             (1 - std::min(1.0, busiest)) * counted.seconds);
    return wrong;
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
    std::string missed;
    const auto miss = [&](bool hit, std::string_view what) {
        if (!hit) {
            missed += (missed.empty() ? "missed: " : ", ") + std::string(what);
        }
    };
    miss(median_error <= time_tolerance, "time");
    miss(speedups == 0 || 2 * speedup_hits > speedups, "speed-up");
    miss(profiled == 0 || 2 * limiter_hits > profiled, "limiter");
    return missed.empty() ? "hit" : missed;
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
        if (c.counted) {
            ++score.profiled;
            const bool right = limiter_hit(c.counted->predicted_limiter, c.counted->limiter);
            score.limiter_hits += right ? 1 : 0;
            score.limiter_hits_first += limiter_hit(c.limiter, c.counted->limiter) ? 1 : 0;
        }
    }
    score.median_error = errors.empty() ? 0 : median(errors);
    return score;
}

}  // namespace raceline

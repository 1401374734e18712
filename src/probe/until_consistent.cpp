// SPDX-License-Identifier: Apache-2.0
#include "probe/until_consistent.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <span>
#include <string>

#include "device/ceiling_checks.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

constexpr int most_attempts = 3;

// Of each resource the better one: the higher rate, or the shorter time.
std::vector<Ceiling> better_of(std::span<const Ceiling> a, std::span<const Ceiling> b) {
    std::vector<Ceiling> best(a.begin(), a.end());
    for (const Ceiling& other : b) {
        const auto same = std::find_if(best.begin(), best.end(), [&](const Ceiling& one) {
            return one.resource == other.resource;
        });
        if (same == best.end()) {
            best.push_back(other);
        } else if (other.unit == "s" ? other.value < same->value : other.value > same->value) {
            *same = other;
        }
    }
    return best;
}

}  // namespace

std::vector<Ceiling> probe_until_consistent(const std::function<std::vector<Ceiling>()>& probe) {
    std::vector<Ceiling> best;
    std::vector<std::string> reasons;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        best = better_of(best, probe());
        reasons = contradictions(best);
        if (reasons.empty()) {
            return best;
        }
    }
    fail(Status::internal,
         "ceilings contradict each other after {} attempts, and none is kept: {}; measure again "
         "when nothing else runs",
         most_attempts, fmt::join(reasons, "; "));
}

}  // namespace raceline

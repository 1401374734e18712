// SPDX-License-Identifier: Apache-2.0
#include "probe/until_consistent.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <span>
#include <string>

#include "device/catalog.hpp"
#include "device/ceiling_checks.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

constexpr int most_attempts = 3;

auto find(std::vector<Ceiling>& ceilings, const std::string& resource) {
    return std::ranges::find(ceilings, resource, &Ceiling::resource);
}

// Takes out what no unit can do, and names it: its clock was read while another one held.
std::vector<std::string> take_above_limit(std::vector<Ceiling>& ceilings) {
    std::vector<std::string> taken;
    std::erase_if(ceilings, [&](const Ceiling& ceiling) {
        const bool above = is_above_limit(ceiling);
        if (above) {
            taken.push_back(ceiling.resource);
        }
        return above;
    });
    return taken;
}

// Of each resource the better one: the higher rate, or the shorter time.
std::vector<Ceiling> better_of(std::span<const Ceiling> a, std::span<const Ceiling> b) {
    std::vector<Ceiling> best(a.begin(), a.end());
    for (const Ceiling& other : b) {
        const auto same = find(best, other.resource);
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
        std::vector<Ceiling> measured = probe();
        const std::vector<std::string> above = take_above_limit(measured);
        best = better_of(best, measured);
        reasons = contradictions(best);
        for (const std::string& resource : above) {
            if (find(best, resource) == best.end()) {
                reasons.push_back(fmt::format(
                    "{} is above what its units do at the clock that was read", resource));
            }
        }
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

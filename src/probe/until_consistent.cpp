// SPDX-License-Identifier: Apache-2.0
#include "probe/until_consistent.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <iterator>
#include <span>
#include <string>

#include "device/catalog.hpp"
#include "device/ceiling_checks.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr int most_attempts = 3;

auto find(std::vector<Ceiling>& ceilings, const std::string& resource) {
    return std::ranges::find(ceilings, resource, &Ceiling::resource);
}

// Takes out what no unit can do: its clock was read while another one held.
std::vector<Ceiling> take_above_limit(std::vector<Ceiling>& ceilings) {
    std::vector<Ceiling> taken;
    std::ranges::copy_if(ceilings, std::back_inserter(taken), is_above_limit);
    std::erase_if(ceilings, is_above_limit);
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
        const std::vector<Ceiling> above = take_above_limit(measured);
        best = better_of(best, measured);
        reasons = contradictions(best);
        for (const Ceiling& ceiling : above) {
            if (find(best, ceiling.resource) == best.end()) {
                reasons.push_back(
                    fmt::format("{} is {}, above the {} of its units at the clock that was read",
                                ceiling.resource, format_quantity(ceiling.value, ceiling.unit),
                                format_quantity(ceiling.limit, ceiling.unit)));
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

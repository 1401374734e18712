// SPDX-License-Identifier: Apache-2.0
#include "device/ceiling_checks.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr double least_agreement = 0.95;  // of what must not be exceeded: two readings differ
constexpr double least_core_share = 0.6;  // of the part of its limit that one core alone reaches

const Ceiling* find(std::span<const Ceiling> ceilings, const std::string& resource) {
    const auto found = std::find_if(ceilings.begin(), ceilings.end(),
                                    [&](const Ceiling& one) { return one.resource == resource; });
    return found == ceilings.end() ? nullptr : &*found;
}

std::string below(const Ceiling& low, const Ceiling& high, const char* why) {
    return fmt::format("{} is {}, below {} of {}: {}", low.resource,
                       format_quantity(low.value, low.unit), high.resource,
                       format_quantity(high.value, high.unit), why);
}

void compare_with_unit(const Ceiling& all, const Ceiling& one, std::vector<std::string>& found) {
    if (all.value < least_agreement * one.value) {
        found.push_back(below(all, one, "all cores together were slower than one of them"));
        return;
    }
    if (all.limit > 0 && one.limit > 0 &&
        all.value / all.limit < least_core_share * one.value / one.limit) {
        found.push_back(fmt::format(
            "{} reaches {} of its limit, one core alone {} of its own: the others did not have "
            "theirs to themselves",
            all.resource, format_percent(all.value / all.limit),
            format_percent(one.value / one.limit)));
    }
}

}  // namespace

std::vector<std::string> contradictions(std::span<const Ceiling> ceilings) {
    std::vector<std::string> found;
    for (const Ceiling& one : ceilings) {
        if (const Ceiling* unit = find(ceilings, one.resource + ".unit")) {
            compare_with_unit(one, *unit, found);
        }
        if (const Ceiling* burst = find(ceilings, one.resource + ".burst");
            burst != nullptr && burst->value < least_agreement * one.value) {
            found.push_back(below(*burst, one, "a burst was slower than what is kept up"));
        }
        if (const Ceiling* loaded = find(ceilings, one.resource + ".loaded");
            loaded != nullptr && loaded->value < least_agreement * one.value) {
            found.push_back(below(*loaded, one, "one thread on an idle chip waits least"));
        }
    }
    const Ceiling* l1 = find(ceilings, "byte.l1");
    const Ceiling* l2 = find(ceilings, "byte.l2");
    const Ceiling* dram = find(ceilings, "byte.dram_read");
    for (const auto& [near, far] : {std::pair{l1, l2}, std::pair{l2, dram}}) {
        if (near != nullptr && far != nullptr && near->value < least_agreement * far->value) {
            found.push_back(below(*near, *far, "a cache was slower than what is behind it"));
        }
    }
    return found;
}

}  // namespace raceline

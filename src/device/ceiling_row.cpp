// SPDX-License-Identifier: Apache-2.0
// A ceiling as the member `ceiling` of a receipt row.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "device/catalog.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"

namespace raceline {
namespace {

// The clock is read while it moves: the probes are allowed this much over the arithmetic.
constexpr double limit_tolerance = 1.03;

// What every machine's ceilings lie between, by orders of magnitude: another unit, or a decimal
// point that slipped, does not.
struct ResourceKind {
    std::string_view prefix, unit;
    double least, most;
};
constexpr std::array<ResourceKind, 7> resource_kinds{{{"byte.", "byte/s", 1e7, 1e16},
                                                      {"flop.", "flop/s", 1e7, 1e18},
                                                      {"op.", "op/s", 1e7, 1e18},
                                                      {"latency.", "s", 1e-11, 1e-3},
                                                      {"floor.", "s", 1e-11, 1e-1},
                                                      {"size.", "byte", 1e3, 1e12},
                                                      {"energy.", "J", 1e-15, 1e-8}}};

double number_or_zero(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

Ceiling ceiling_from_json(const Json& object) {
    require(object.is_object(), Status::corrupt, "a ceiling must be an object");
    Ceiling ceiling;
    ceiling.resource = text_member(object, "resource");
    ceiling.value = number_or_zero(object, "value");
    ceiling.unit = text_member(object, "unit");
    ceiling.clock_hz = number_or_zero(object, "clock_hz");
    ceiling.power_w = number_or_zero(object, "power_w");
    ceiling.method = text_member(object, "method");
    ceiling.limit = number_or_zero(object, "limit");
    require(!ceiling.resource.empty(), Status::corrupt,
            "a ceiling's member \"resource\" must be a string that is not empty");
    require(std::isfinite(ceiling.value) && ceiling.value > 0, Status::corrupt,
            "ceiling {}: member \"value\" must be a number above 0", ceiling.resource);
    return ceiling;
}

bool is_above_limit(const Ceiling& ceiling) {
    return ceiling.limit > 0 && ceiling.value > limit_tolerance * ceiling.limit;
}

void check_ceiling(const Ceiling& ceiling) {
    require(std::isfinite(ceiling.value) && ceiling.value > 0, Status::internal,
            "ceiling {}: the probe gave {}, which is not a rate above 0", ceiling.resource,
            ceiling.value);
    const auto kind = std::ranges::find_if(resource_kinds, [&](const ResourceKind& one) {
        return ceiling.resource.starts_with(one.prefix);
    });
    if (kind != resource_kinds.end()) {
        require(ceiling.unit == kind->unit, Status::internal,
                "ceiling {}: its unit is \"{}\", not {}", ceiling.resource, ceiling.unit,
                kind->unit);
        require(ceiling.value >= kind->least && ceiling.value <= kind->most, Status::internal,
                "ceiling {}: {} is no machine's: they lie between {} and {}", ceiling.resource,
                format_quantity(ceiling.value, ceiling.unit),
                format_quantity(kind->least, ceiling.unit),
                format_quantity(kind->most, ceiling.unit));
    }
    require(!is_above_limit(ceiling), Status::internal,
            "ceiling {}: {} is {} above units x rate per clock x clock = {}; at most 3 % is "
            "accepted, so "
            "the probe or its clock is wrong",
            ceiling.resource, format_quantity(ceiling.value, ceiling.unit),
            format_percent(ceiling.value / ceiling.limit - 1, 1),
            format_quantity(ceiling.limit, ceiling.unit));
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "device/device.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Resources that all cores draw from together; every other rate belongs to the cores.
bool is_shared(std::string_view resource) {
    constexpr std::array<std::string_view, 4> shared{"byte.dram_read", "byte.dram_write",
                                                     "byte.dram_copy", "byte.llc"};
    return std::find(shared.begin(), shared.end(), resource) != shared.end();
}

}  // namespace

Device restrict_units(Device device, int units) {
    require(units >= 1, Status::invalid_argument, "threads must be at least 1, got {}", units);
    if (units == device.units) {
        return device;
    }
    const double asked = static_cast<double>(units) / device.units;
    // A live device has the cores it has: threads beyond them (a core's second hyper-thread) share.
    const double share = device.live ? std::min(asked, 1.0) : asked;
    for (auto& [resource, rate] : device.rates) {
        if (is_time_id(resource) || resource.ends_with(".unit")) {
            continue;
        }
        if (!is_shared(resource)) {
            rate.value *= share;
            continue;
        }
        const auto alone = device.find(resource + ".unit");
        const double drawn = alone ? *alone * units : rate.value * share;
        rate.value = share < 1 ? std::min(rate.value, drawn) : rate.value;
    }
    device.units = units;
    return device;
}

}  // namespace raceline

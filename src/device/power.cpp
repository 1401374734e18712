// SPDX-License-Identifier: Apache-2.0
#include "device/power.hpp"

#include <algorithm>

namespace raceline {
namespace {

// Nothing that was measured came near: it ends the search where a limit is under what idling takes.
constexpr double least_clock_share = 0.2;

double joules_of(const Power& power, std::string_view id) {
    const auto found = power.joules.find(id);
    return found == power.joules.end() ? 0 : found->second;
}

}  // namespace

double watts_at(const Power& power, const PowerDraw& draw, double share_of_clock) {
    const double volts = 1 - power.voltage_slope * (1 - share_of_clock);
    return power.idle_w + share_of_clock * (draw.chip_w * volts * volts + draw.memory_w);
}

double clock_within_limit(const Device& device, const PowerDraw& draw) {
    const Power& power = device.power;
    if (!power.known() || watts_at(power, draw, 1) <= power.limit_w) {
        return device.clock_hz;
    }
    // Watts rise with the clock, so halving finds where they cross the limit.
    double low = least_clock_share, high = 1;
    for (int i = 0; i < 20; ++i) {
        const double middle = (low + high) / 2;
        (watts_at(power, draw, middle) > power.limit_w ? high : low) = middle;
    }
    return low * device.clock_hz;
}

PowerDraw draw_of(const Device& device, std::string_view id, double amount_per_second) {
    const double watts = joules_of(device.power, id) * amount_per_second;
    if (id != "byte.dram_read" && id != "byte.dram_write") {
        return {.chip_w = watts, .memory_w = 0};
    }
    const double outside = device.memory_energy * amount_per_second;
    return {.chip_w = std::max(0.0, watts - outside), .memory_w = std::min(watts, outside)};
}

}  // namespace raceline

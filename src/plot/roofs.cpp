// SPDX-License-Identifier: Apache-2.0
#include "plot/roofs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "device/catalog.hpp"
#include "device/rate_origin.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

struct Level {
    std::string_view resource, name;
};
constexpr std::array levels{Level{"byte.dram_read", "DRAM"}, Level{"byte.llc", "LLC"},
                            Level{"byte.l2", "L2"}, Level{"byte.l1", "L1"},
                            Level{"byte.smem_lsu", "SMEM"}};

// One that the cases of a chart can reach: neither that of a single unit, nor one that holds for a
// few milliseconds only, nor that of narrower vectors.
bool is_engine(std::string_view resource) {
    return resource.starts_with("flop.") && !resource.ends_with(".unit") &&
           !resource.ends_with(".burst") && !resource.ends_with(unscaled_suffix) &&
           resource.find('@') == std::string_view::npos;
}

// A roof's name and rate. Of ceilings that nobody measured only those of memory are drawn.
void add_roof(Roofs& roofs, const std::string& resource, double rate, bool measured) {
    const auto level = std::ranges::find(levels, std::string_view(resource), &Level::resource);
    if (level != levels.end()) {
        roofs.memory.push_back({std::string(level->name), resource, rate, measured});
    } else if (is_engine(resource)) {
        roofs.engines.push_back({resource.substr(5), resource, rate, measured});
    }
}

void sort_roofs(Roofs& roofs) {
    std::ranges::sort(roofs.memory, {}, &Roof::rate);
    std::ranges::sort(roofs.engines, {}, &Roof::rate);
}

// What the datasheet says of a rate that was scaled to what another device reaches.
double stated(const Device& device, const std::string& resource, const Rate& rate) {
    const auto found = device.rates.find(resource + std::string(unscaled_suffix));
    return found == device.rates.end() ? rate.value : found->second.value;
}

// Measured rates of a device, or where none was measured and `datasheet` counts, its datasheet's.
void add_device_roofs(Roofs& roofs, const Device& device, bool datasheet) {
    const bool probed = std::ranges::any_of(
        device.rates, [](const auto& rate) { return is_measured(rate.second); });
    for (const auto& [resource, rate] : device.rates) {
        const bool measured = is_measured(rate);
        if (measured || (!probed && datasheet)) {
            add_roof(roofs, resource, measured ? rate.value : stated(device, resource, rate),
                     measured);
        }
    }
}

// Committed ceilings of a device, else its datasheet's; nothing of a CPU or GPU that the id alone
// does not name.
void add_known_roofs(Roofs& roofs, const DeviceName& name) {
    Device device;
    try {
        device = datasheet_device(name.id);
    } catch (const Error&) {
        return;  // a device that this build does not know
    }
    device.name = name.name;
    device.driver = name.driver;
    apply_committed_rates(device);
    add_device_roofs(roofs, device, name.id != "cpu" && name.id != "cuda");
}

}  // namespace

Roofs roofs_of(const std::string& device, const DeviceName& name, const TimedRows& rows) {
    Roofs roofs;
    roofs.device = device;
    if (const auto own = rows.ceilings.find(device); own != rows.ceilings.end()) {
        for (const auto& [resource, value] : own->second) {
            add_roof(roofs, resource, value, true);
        }
    }
    if (roofs.memory.empty() || roofs.engines.empty()) {
        roofs.memory.clear();
        roofs.engines.clear();
        add_known_roofs(roofs, name);
    }
    sort_roofs(roofs);
    return roofs;
}

Roofs roofs_of(const Device& device) {
    Roofs roofs;
    roofs.device = device.name;
    add_device_roofs(roofs, device, true);
    sort_roofs(roofs);
    return roofs;
}

std::string missing_roofs(const Roofs& roofs) {
    if (roofs.engines.empty() || roofs.memory.empty()) {
        return fmt::format(
            "{}: its ceilings are not known, so it has no roofs; name a file of its ceilings",
            roofs.device);
    }
    return std::ranges::all_of(roofs.engines, &Roof::measured)
               ? ""
               : fmt::format("{}: its ceilings were not measured; roofs are the datasheet's",
                             roofs.device);
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "plot/roofs.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
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

// What the device's predictions rest on, or where it has none what a row says of it. A case whose
// prediction is lost says nothing of ceilings.
void add_stated_roofs(Roofs& roofs, const TimedRows& rows) {
    std::set<std::string> sets;  // by rates_id
    for (const TimedCase& one : rows.cases) {
        if (one.device == roofs.device && one.predicted) {
            sets.insert(one.predicted->rates_id);
        }
    }
    const auto states = rows.stated.find(roofs.device);
    if (states == rows.stated.end()) {
        return;
    }
    roofs.sets = std::max<std::size_t>(1, sets.size());
    if (sets.empty()) {
        add_device_roofs(roofs, last_stated(rows, roofs.device)->device, false);
    } else if (sets.size() == 1 && states->second.contains(*sets.begin())) {
        add_device_roofs(roofs, states->second.at(*sets.begin()).device, false);
    } else {
        roofs.unstated = std::ranges::none_of(
            sets, [&](const std::string& set) { return states->second.contains(set); });
    }
}

bool incomplete(const Roofs& roofs) {
    return roofs.memory.empty() || roofs.engines.empty();
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
    if (incomplete(roofs)) {
        roofs = {.device = device, .memory = {}, .engines = {}};
        add_stated_roofs(roofs, rows);
    }
    if (incomplete(roofs)) {
        roofs.memory.clear();
        roofs.engines.clear();
        add_known_roofs(roofs, name);
        roofs.unstated = roofs.unstated && incomplete(roofs);
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
    if (incomplete(roofs) && roofs.unstated) {
        return fmt::format(
            "{}: its predictions rest on ceilings that no row states; rows state only those of "
            "other machines of this name, so it has no roofs; name a file of its ceilings",
            roofs.device);
    }
    if (incomplete(roofs) && roofs.sets > 1) {
        return fmt::format(
            "{}: its rows rest on {} sets of ceilings, as those of several machines do, so it has "
            "no roofs; draw the files of one",
            roofs.device, roofs.sets);
    }
    if (incomplete(roofs)) {
        return fmt::format(
            "{}: its ceilings are not known, so it has no roofs; name a file of its ceilings, or "
            "run "
            "`raceline measure` and then bench again",
            roofs.device);
    }
    return std::ranges::all_of(roofs.engines, &Roof::measured)
               ? ""
               : fmt::format("{}: its ceilings were not measured; roofs are the datasheet's",
                             roofs.device);
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "report/compulsory_bound.hpp"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "model/speed_of_light.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string key_of(const DeviceName& name) {
    return name.id + '\n' + name.name;
}

Device without_rates(const DeviceName& name) {
    Device device;
    device.id = name.id;
    device.name = name.name;
    return device;
}

// What a file says of a device may differ by this much from what was committed of it: two machines
// of one kind, two drivers.
constexpr double as_committed = 0.1;

bool bounds_a_time(std::string_view resource) {
    return resource.starts_with("flop.") || resource == "byte.dram_read" ||
           resource == "byte.dram_write";
}

}  // namespace

CompulsoryBound::Ceilings& CompulsoryBound::ceilings_of(const DeviceName& name) {
    const auto [at, fresh] = known_.try_emplace(key_of(name));
    if (fresh) {
        Device& committed = at->second.committed;
        committed = without_rates(name);
        apply_committed_rates(committed);
        at->second.used = committed;
    }
    return at->second;
}

void CompulsoryBound::take(const CeilingRow& row) {
    for (const char* of_a_library : {"product", "capacity", "memory"}) {
        if (row.more.contains(of_a_library)) {
            return;
        }
    }
    const std::string& resource = row.ceiling.resource;
    if (!bounds_a_time(resource)) {
        return;
    }
    const double value = row.ceiling.value;
    Ceilings& ceilings = ceilings_of(row.device);
    const double known = ceilings.committed.find(resource).value_or(0);
    if (ceilings.committed.rates.empty() || std::abs(value - known) < as_committed * known) {
        ceilings.used.rates[resource].value = value;
    } else {
        remarks_.insert(fmt::format(
            "the ceiling {} of {} is {} here and {} among the committed ones: cold times are held "
            "to those",
            resource, row.device.name, format_quantity(value, row.ceiling.unit),
            known > 0 ? format_quantity(known, row.ceiling.unit) : "not"));
    }
}

std::optional<CompulsoryBound::Least> CompulsoryBound::of(const RowCase& about) {
    const Device& device = ceilings_of(about.device).used;
    const SpeedOfLight all =
        speed_of_light(device, workload_from_json(about.workload), {.cold = true});
    const double operations = all.compute_seconds;
    const double bytes = all.memory_seconds;
    if (operations <= 0 && bytes <= 0) {
        if (about.launch.cold) {
            remarks_.insert(fmt::format("cold times of {} are not held to ceilings: none are known",
                                        about.device.name));
        }
        return std::nullopt;
    }
    return bytes >= operations ? Least{bytes, "the compulsory bytes", operations}
                               : Least{operations, "the operations", operations};
}

}  // namespace raceline

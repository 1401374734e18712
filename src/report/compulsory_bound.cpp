// SPDX-License-Identifier: Apache-2.0
#include "report/compulsory_bound.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
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

// What is narrower than the problem's own types rounds its inputs, which no right answer survives;
// 32 bits may be split into several of 16.
bool may_multiply(std::string_view engine, const Workload& w) {
    const bool narrow = std::min(bytes_of(w.dtype), bytes_of(w.kv_dtype)) < 2;
    const bool engine_is_narrow = engine.find("e4m3") != std::string_view::npos ||
                                  engine.find("fp4") != std::string_view::npos ||
                                  engine.find("fp8") != std::string_view::npos;
    return narrow || !engine_is_narrow;
}

double fastest_engine(const Device& device, const Workload& w) {
    double best = 0;
    for (const auto& [resource, rate] : device.rates) {
        if (resource.starts_with("flop.") && !resource.ends_with(".unit") &&
            may_multiply(resource, w)) {
            best = std::max(best, rate.value);
        }
    }
    return best;
}

double seconds_of_bytes(const Device& device, const Workload& w) {
    const double read = device.find("byte.dram_read").value_or(0);
    const double write = device.find("byte.dram_write").value_or(read);
    return read <= 0 || write <= 0 ? 0
                                   : (w.bytes_q() + w.bytes_kv()) / read + w.bytes_out() / write;
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
            "the ceiling {} of {} is {:.4g} {} here and {} among the committed ones: cold times "
            "are held to those",
            resource, row.device.name, value, row.ceiling.unit,
            known > 0 ? fmt::format("{:.4g}", known) : "not"));
    }
}

std::optional<CompulsoryBound::Least> CompulsoryBound::of(const RowCase& about) {
    const Device& device = ceilings_of(about.device).used;
    const Workload w = workload_from_json(about.workload);
    const double engine = fastest_engine(device, w);
    const double operations = engine > 0 ? w.flops() / engine : 0;
    const double bytes = seconds_of_bytes(device, w);
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

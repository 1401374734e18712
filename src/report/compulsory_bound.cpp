// SPDX-License-Identifier: Apache-2.0
#include "report/compulsory_bound.hpp"

#include <algorithm>
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

void CompulsoryBound::take(const CeilingRow& row) {
    for (const char* of_a_library : {"product", "capacity", "memory"}) {
        if (row.more.contains(of_a_library)) {
            return;
        }
    }
    const auto [at, fresh] = of_file_.try_emplace(key_of(row.device), without_rates(row.device));
    at->second.rates[row.ceiling.resource].value = row.ceiling.value;
}

const Device& CompulsoryBound::rates_of(const DeviceName& name) {
    if (const auto given = of_file_.find(key_of(name)); given != of_file_.end()) {
        return given->second;
    }
    const auto [at, fresh] = committed_.try_emplace(key_of(name), without_rates(name));
    if (fresh) {
        apply_committed_rates(at->second);
    }
    return at->second;
}

std::optional<CompulsoryBound::Least> CompulsoryBound::of(const RowCase& about) {
    const Device& device = rates_of(about.device);
    const Workload w = workload_from_json(about.workload);
    const double engine = fastest_engine(device, w);
    const double operations = engine > 0 ? w.flops() / engine : 0;
    const double bytes = seconds_of_bytes(device, w);
    if (operations <= 0 && bytes <= 0) {
        return std::nullopt;
    }
    return bytes >= operations ? Least{bytes, "the compulsory bytes"}
                               : Least{operations, "the operations"};
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "device/device_state.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device/catalog.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Writing and reading go through one list each, so that neither can forget what the other has.
template <class AnyDevice, class Visit>
void visit_members(AnyDevice& d, const Visit& visit) {
    visit("id", d.id);
    visit("name", d.name);
    visit("driver", d.driver);
    visit("year", d.year);
    visit("compute_capability", d.compute_capability);
    visit("units", d.units);
    visit("clock_hz", d.clock_hz);
    visit("sustained_clock_hz", d.sustained_clock_hz);
    visit("simd_bits", d.simd_bits);
    visit("has_bf16_dot", d.has_bf16_dot);
    visit("memory_bytes", d.memory_bytes);
    visit("l1_bytes", d.l1_bytes);
    visit("l2_bytes", d.l2_bytes);
    visit("llc_bytes", d.llc_bytes);
    visit("smem_bytes_per_unit", d.smem_bytes_per_unit);
    visit("smem_bytes_per_cta", d.smem_bytes_per_cta);
    visit("registers_per_unit", d.registers_per_unit);
    visit("threads_per_unit", d.threads_per_unit);
    visit("ctas_per_unit", d.ctas_per_unit);
    visit("link_bytes_per_second", d.link_bytes_per_second);
    visit("live", d.live);
    visit("rates_id", d.rates_id);
}

template <class AnyRate, class Visit>
void visit_rate(AnyRate& rate, const Visit& visit) {
    visit("value", rate.value);
    visit("clock_hz", rate.clock_hz);
    visit("per_clock_per_unit", rate.per_clock_per_unit);
    visit("note", rate.note);
    visit("source", rate.source);
}

constexpr std::array kinds{"cpu", "cuda", "rocm"};

// What the model reads: not which machine it is, nor whether it is here.
Json read_by_the_model(Device device) {
    device.name.clear();
    device.driver.clear();
    device.live = false;
    Json state = device_state_to_json(device);
    state.erase("year");
    for (Json& rate : state["rates"]) {
        rate.erase("source");
    }
    return state;
}

Device committed_device(const Device& device) {
    Device known = datasheet_device(device.id);
    known.name = device.name;
    apply_committed_rates(known);
    return known;
}

}  // namespace

Json device_state_to_json(const Device& device) {
    Json state = Json::object();
    state["kind"] = kinds.at(static_cast<std::size_t>(device.kind));
    visit_members(device, [&](const char* name, const auto& value) { state[name] = value; });
    Json rates = Json::object();
    for (const auto& [resource, rate] : device.rates) {
        Json& one = rates[resource] = Json::object();
        visit_rate(rate, [&](const char* name, const auto& value) { one[name] = value; });
    }
    state["rates"] = std::move(rates);
    return state;
}

Device device_state_from_json(const Json& state) {
    Device device;
    try {
        const auto& kind = state.at("kind").get_ref<const std::string&>();
        const auto* const found = std::ranges::find(kinds, kind);
        require(found != kinds.end(), Status::corrupt,
                "state.kind is \"{}\"; it must be cpu, cuda or rocm", kind);
        device.kind = static_cast<DeviceKind>(found - kinds.begin());
        visit_members(device, [&](const char* name, auto& value) { state.at(name).get_to(value); });
        for (const auto& [resource, one] : state.at("rates").items()) {
            const Json& written = one;
            visit_rate(device.rates[resource],
                       [&](const char* name, auto& value) { written.at(name).get_to(value); });
        }
    } catch (const Json::exception& e) {
        fail(Status::corrupt, "the state of a device: {}", e.what());
    }
    return device;
}

std::optional<Json> uncommitted_state(const Device& device) {
    const std::vector<std::string> ids = device_ids();
    if (std::ranges::find(ids, device.id) != ids.end() &&
        read_by_the_model(device) == read_by_the_model(committed_device(device))) {
        return std::nullopt;
    }
    return Json{{"device", {{"id", device.id}, {"name", device.name}, {"driver", device.driver}}},
                {"state", device_state_to_json(device)}};
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "device/device_state.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "device/catalog.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// Writing and reading go through one list each, so that neither can forget what the other has.
constexpr std::tuple device_members{
    std::pair{"id", &Device::id},
    std::pair{"name", &Device::name},
    std::pair{"driver", &Device::driver},
    std::pair{"year", &Device::year},
    std::pair{"compute_capability", &Device::compute_capability},
    std::pair{"units", &Device::units},
    std::pair{"clock_hz", &Device::clock_hz},
    std::pair{"sustained_clock_hz", &Device::sustained_clock_hz},
    std::pair{"simd_bits", &Device::simd_bits},
    std::pair{"has_bf16_dot", &Device::has_bf16_dot},
    std::pair{"memory_bytes", &Device::memory_bytes},
    std::pair{"l1_bytes", &Device::l1_bytes},
    std::pair{"l2_bytes", &Device::l2_bytes},
    std::pair{"llc_bytes", &Device::llc_bytes},
    std::pair{"smem_bytes_per_unit", &Device::smem_bytes_per_unit},
    std::pair{"smem_bytes_per_cta", &Device::smem_bytes_per_cta},
    std::pair{"registers_per_unit", &Device::registers_per_unit},
    std::pair{"threads_per_unit", &Device::threads_per_unit},
    std::pair{"ctas_per_unit", &Device::ctas_per_unit},
    std::pair{"link_bytes_per_second", &Device::link_bytes_per_second},
    std::pair{"live", &Device::live},
    std::pair{"rates_id", &Device::rates_id}};
constexpr std::tuple rate_members{
    std::pair{"value", &Rate::value}, std::pair{"clock_hz", &Rate::clock_hz},
    std::pair{"per_clock_per_unit", &Rate::per_clock_per_unit}, std::pair{"note", &Rate::note},
    std::pair{"source", &Rate::source}};

// Files that are older than this member, and machines without, do not have it.
constexpr const char* bf16_tiles_member = "has_bf16_tiles";

// Calls `visit` with the name and the value of each.
template <class Members, class Struct, class Visit>
void visit_members(const Members& members, Struct& its, const Visit& visit) {
    std::apply([&](const auto&... one) { (visit(one.first, its.*one.second), ...); }, members);
}

constexpr std::tuple power_members{
    std::pair{"limit_w", &Power::limit_w}, std::pair{"idle_w", &Power::idle_w},
    std::pair{"voltage_slope", &Power::voltage_slope}, std::pair{"joules", &Power::joules},
    std::pair{"decides", &Power::decides}};
constexpr std::array kind_words{"cpu", "cuda", "rocm"};

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

Json listed_members(const Device& device) {
    Json rates = Json::object();
    for (const auto& [resource, rate] : device.rates) {
        rates[resource] = Json{{"value", rate.value}, {"source", rate.source}};
    }
    return Json{{"live", device.live},
                {"year", device.year},
                {"units", device.units},
                {"clock_hz", device.clock_hz},
                {"memory_bytes", device.memory_bytes},
                {"l2_bytes", device.l2_bytes},
                {"llc_bytes", device.llc_bytes},
                {"rates_id", device.rates_id},
                {"rates", std::move(rates)}};
}

Json device_state_to_json(const Device& device) {
    Json state = Json::object();
    state["kind"] = kind_words.at(static_cast<std::size_t>(device.kind));
    visit_members(device_members, device,
                  [&](const char* name, const auto& value) { state[name] = value; });
    if (device.has_bf16_tiles) {
        state[bf16_tiles_member] = true;
    }
    Json rates = Json::object();
    for (const auto& [resource, rate] : device.rates) {
        Json& one = rates[resource] = Json::object();
        visit_members(rate_members, rate,
                      [&](const char* name, const auto& value) { one[name] = value; });
    }
    state["rates"] = std::move(rates);
    if (device.power.known()) {
        Json& power = state["power"] = Json{{"memory_energy", device.memory_energy}};
        visit_members(power_members, device.power,
                      [&](const char* name, const auto& value) { power[name] = value; });
    }
    return state;
}

Device device_state_from_json(const Json& state) {
    Device device;
    try {
        const auto& kind = state.at("kind").get_ref<const std::string&>();
        const auto* const found = std::ranges::find(kind_words, kind);
        require(found != kind_words.end(), Status::corrupt,
                "state.kind is \"{}\"; it must be cpu, cuda or rocm", kind);
        device.kind = static_cast<DeviceKind>(found - kind_words.begin());
        visit_members(device_members, device,
                      [&](const char* name, auto& value) { state.at(name).get_to(value); });
        device.has_bf16_tiles = state.value(bf16_tiles_member, false);
        for (const auto& [resource, one] : state.at("rates").items()) {
            const Json& written = one;
            visit_members(rate_members, device.rates[resource],
                          [&](const char* name, auto& value) { written.at(name).get_to(value); });
        }
        // Older files and CPUs have none.
        if (const auto power = state.find("power"); power != state.end()) {
            power->at("memory_energy").get_to(device.memory_energy);
            visit_members(power_members, device.power,
                          [&](const char* name, auto& value) { power->at(name).get_to(value); });
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

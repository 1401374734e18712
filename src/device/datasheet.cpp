// SPDX-License-Identifier: Apache-2.0
#include "device/datasheet.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/catalog.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "support/once_for_each.hpp"

namespace raceline {
namespace {

constexpr std::string_view datasheet_folder = "devices/";
constexpr std::string_view datasheet_suffix = ".json";
constexpr double issue_slots_per_unit = 128;

std::optional<std::string_view> id_of_path(std::string_view path) {
    if (!path.starts_with(datasheet_folder) || !path.ends_with(datasheet_suffix)) {
        return std::nullopt;
    }
    path.remove_prefix(datasheet_folder.size());
    path.remove_suffix(datasheet_suffix.size());
    return path;
}

const Json& member(const Json& object, std::string_view key, std::string_view where) {
    require(object.is_object() && object.contains(key), Status::corrupt,
            "{}: member \"{}\" is missing", where, key);
    return object.at(std::string(key));
}

std::string text(const Json& object, std::string_view key, std::string_view where) {
    const Json& value = member(object, key, where);
    require(value.is_string() && !value.get_ref<const std::string&>().empty(), Status::corrupt,
            "{}: member \"{}\" must be a string that is not empty", where, key);
    return value.get<std::string>();
}

std::string optional_text(const Json& object, std::string_view key, std::string_view where) {
    return object.contains(key) ? text(object, key, where) : std::string();
}

// Every number of a device file is {value, unit, source}: one without its source is refused.
double number(const Json& object, std::string_view where) {
    const Json& value = member(object, "value", where);
    require(value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0,
            Status::corrupt, "{}: \"value\" must be a number of 0 or more", where);
    text(object, "unit", where);
    text(object, "source", where);
    return value.get<double>();
}

struct Size {
    std::string_view key;
    void (*set)(Device&, double);
};
constexpr Size sizes[] = {
    {"year", [](Device& d, double v) { d.year = static_cast<int>(v); }},
    {"units", [](Device& d, double v) { d.units = static_cast<int>(v); }},
    {"clock_hz", [](Device& d, double v) { d.clock_hz = v; }},
    {"clock_max_hz", [](Device& d, double v) { d.clock_max_hz = v; }},
    {"sustained_clock_hz", [](Device& d, double v) { d.sustained_clock_hz = v; }},
    {"simd_bits", [](Device& d, double v) { d.simd_bits = static_cast<int>(v); }},
    {"memory_bytes", [](Device& d, double v) { d.memory_bytes = static_cast<std::int64_t>(v); }},
    {"l1_bytes", [](Device& d, double v) { d.l1_bytes = static_cast<std::int64_t>(v); }},
    {"l2_bytes", [](Device& d, double v) { d.l2_bytes = static_cast<std::int64_t>(v); }},
    {"llc_bytes", [](Device& d, double v) { d.llc_bytes = static_cast<std::int64_t>(v); }},
    {"smem_bytes_per_unit",
     [](Device& d, double v) { d.smem_bytes_per_unit = static_cast<std::int64_t>(v); }},
    {"smem_bytes_per_cta",
     [](Device& d, double v) { d.smem_bytes_per_cta = static_cast<std::int64_t>(v); }},
    {"registers_per_unit", [](Device& d, double v) { d.registers_per_unit = static_cast<int>(v); }},
    {"threads_per_unit", [](Device& d, double v) { d.threads_per_unit = static_cast<int>(v); }},
    {"ctas_per_unit", [](Device& d, double v) { d.ctas_per_unit = static_cast<int>(v); }},
    {"link_bytes_per_second", [](Device& d, double v) { d.link_bytes_per_second = v; }},
    {"power_limit_w", [](Device& d, double v) { d.power.limit_w = v; }},
    {"process_energy", [](Device& d, double v) { d.process_energy = v; }},
    {"memory_energy", [](Device& d, double v) { d.memory_energy = v; }},
};

DeviceKind kind_of(std::string_view word, std::string_view where) {
    if (word == "cpu") {
        return DeviceKind::cpu;
    }
    if (word == "cuda") {
        return DeviceKind::cuda;
    }
    if (word == "rocm") {
        return DeviceKind::rocm;
    }
    fail(Status::corrupt, "{}: kind is \"{}\"; cpu, cuda and rocm are accepted", where, word);
}

void read_sizes(const Json& object, std::string_view where, Device& device) {
    for (const auto& [key, value] : member(object, "sizes", where).items()) {
        const auto* size = std::find_if(std::begin(sizes), std::end(sizes),
                                        [&](const Size& s) { return s.key == key; });
        require(size != std::end(sizes), Status::corrupt,
                "{}: size \"{}\" is not one that a device has", where, key);
        size->set(device, number(value, fmt::format("{}: {}", where, key)));
    }
    require(device.units >= 1, Status::corrupt, "{}: units must be at least 1", where);
    if (device.llc_bytes == 0) {
        device.llc_bytes = device.l2_bytes;
    }
}

// The factor from the file's generic CPU to this one; nothing if it lacks the instructions.
std::optional<double> scale_of(const Json& words, std::string_view where, const Device& base,
                               const Device& device, bool of_unit) {
    double factor = 1;
    for (const Json& entry : words) {
        const auto word = entry.is_string() ? entry.get<std::string>() : std::string();
        if (word == "units") {
            factor *= of_unit ? 1 : static_cast<double>(device.units) / base.units;
        } else if (word == "clock") {
            factor *= of_unit || device.clock_hz <= 0 ? 1 : device.clock_hz / base.clock_hz;
        } else if (word == "simd") {
            factor *= static_cast<double>(device.simd_bits) / base.simd_bits;
        } else if (word == "bf16_dot") {
            if (!device.has_bf16_dot) {
                return std::nullopt;
            }
        } else if (word == "bf16_tiles") {
            if (!device.has_bf16_tiles) {
                return std::nullopt;
            }
        } else {
            fail(Status::corrupt,
                 "{}: scales_with holds \"{}\"; units, clock, simd, bf16_dot and bf16_tiles are "
                 "accepted",
                 where, word);
        }
    }
    return factor;
}

// One instruction a clock from each of four schedulers, for 32 lanes each: CUDA C++ Programming
// Guide, "Compute Capability 7.x" to "12.0" (a multiprocessor has four warp schedulers, each issues
// one instruction for one warp a clock). A file that states the rate keeps its own.
void derive_issue_rate(Device& device) {
    if (device.kind != DeviceKind::cuda || device.clock_hz <= 0 ||
        device.rates.contains("op.issue")) {
        return;
    }
    device.rates["op.issue"] = {device.units * issue_slots_per_unit * device.clock_hz,
                                "datasheet: derived from SMs x 4 schedulers x 32 lanes x clock",
                                device.clock_hz, "", issue_slots_per_unit};
}

}  // namespace

void read_rates(const Json& object, std::string_view where, const Device& base, Device& device) {
    for (const auto& [resource, entry] : member(object, "rates", where).items()) {
        const std::string at = fmt::format("{}: {}", where, resource);
        Rate rate;
        rate.value = number(entry, at);
        require(rate.value > 0, Status::corrupt, "{}: a rate must be above 0", at);
        rate.source = "datasheet: " + text(entry, "source", at);
        rate.note = optional_text(entry, "note", at);
        const Json& clock = member(entry, "clock_hz", at);
        require(clock.is_number() && clock.get<double>() >= 0, Status::corrupt,
                "{}: \"clock_hz\" must be a number of 0 or more", at);
        rate.clock_hz = clock.get<double>();
        if (entry.contains("per_clock_per_unit")) {
            rate.per_clock_per_unit = number(entry.at("per_clock_per_unit"), at);
        }
        if (entry.contains("scales_with")) {
            const Json& words = entry.at("scales_with");
            const auto whole = scale_of(words, at, base, device, false);
            const auto of_unit = scale_of(words, at, base, device, true);
            if (!whole || !of_unit) {
                continue;
            }
            rate.value *= *whole;
            rate.per_clock_per_unit *= *of_unit;
            rate.clock_hz =
                rate.clock_hz > 0 && device.clock_hz > 0 ? device.clock_hz : rate.clock_hz;
        }
        device.rates[resource] = std::move(rate);
    }
}

Device device_from_json(const Json& object, std::string_view where) {
    const Json& schema = member(object, "schema", where);
    require(schema == 1, Status::corrupt, "{}: schema must be 1", where);
    Device device;
    device.id = text(object, "id", where);
    device.name = text(object, "name", where);
    device.kind = kind_of(text(object, "kind", where), where);
    const Json& capability = member(object, "compute_capability", where);
    require(capability.is_number_integer(), Status::corrupt,
            "{}: compute_capability must be a whole number", where);
    device.compute_capability = capability.get<int>();
    read_sizes(object, where, device);
    const Device base = device;
    read_rates(object, where, base, device);
    derive_issue_rate(device);
    device.rates_id = rates_id_of(device, "datasheet");
    return device;
}

std::vector<std::string> device_ids() {
    std::vector<std::string> ids;
    for (const auto& file : build_info::embedded_files()) {
        if (const auto id = id_of_path(file.path)) {
            ids.emplace_back(*id);
        }
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

namespace {

// Without what names are parted by, small. Anything else stays, and is in no name.
std::string squeezed(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (std::string_view(" -_./()").find(c) == std::string_view::npos) {
            text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return text;
}

// Whether a device's id, its vendor's name of it, one that a driver reports, or one of these
// without the vendor is the same.
bool is_called(const std::string& id, const std::string& wanted) {
    const Json& object = datasheet_json(id);
    auto names = object.value("runtime_names", std::vector<std::string>());
    names.push_back(object.at("name").get<std::string>());
    return squeezed(id) == wanted || std::ranges::any_of(names, [&](const std::string& full) {
               return squeezed(full) == wanted ||
                      squeezed(full.substr(std::min(full.find(' '), full.size()))) == wanted;
           });
}

}  // namespace

std::string device_called(std::string_view name) {
    const std::string wanted = squeezed(name);
    std::vector<std::string> family;
    const std::vector<std::string> ids = device_ids();
    if (std::ranges::find(ids, name) != ids.end()) {
        return std::string(name);
    }
    for (const std::string& id : ids) {
        if (!wanted.empty() && is_called(id, wanted)) {
            return id;
        }
        if (!wanted.empty() && squeezed(id.substr(0, id.find('-'))) == wanted) {
            family.push_back(id);
        }
    }
    require(family.empty(), Status::no_device, "device '{}' may be any of {}: name one of them",
            name, fmt::join(family, ", "));
    static_cast<void>(datasheet_json(name));  // says what is near
    return std::string(name);
}

const Json& datasheet_json(std::string_view id) {
    for (const auto& file : build_info::embedded_files()) {
        if (id_of_path(file.path) == id) {
            static OnceForEach<std::string, Json> parsed;
            return parsed.get(std::string(id), [&] { return parse_json(file.content, file.path); });
        }
    }
    const std::vector<std::string> ids = device_ids();
    const std::vector<std::string_view> views(ids.begin(), ids.end());
    fail(Status::no_device, "device '{}' is not known{}", id, one_of_these(id, views));
}

Device datasheet_device(std::string_view id) {
    return device_from_json(datasheet_json(id), fmt::format("devices/{}.json", id));
}

std::optional<std::string> device_id_of(std::string_view runtime_name) {
    for (const std::string& id : device_ids()) {
        const Json& object = datasheet_json(id);
        const Json& names = member(object, "runtime_names", id);
        if (std::find(names.begin(), names.end(), runtime_name) != names.end()) {
            return id;
        }
    }
    return std::nullopt;
}

}  // namespace raceline

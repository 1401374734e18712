// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_device.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "device/catalog.hpp"
#include "device/known_value.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

bool is_of_whole_chip(std::string_view resource) {
    return resource.starts_with("byte.dram") || is_time_id(resource) || is_size_id(resource) ||
           resource == "byte.l2" || resource == "byte.l2_link" || resource.ends_with(".unit");
}

// The same chip with other SMs switched off (B200 is sold with several counts) keeps its memory.
void scale_units(Device& device, int units) {
    const double share = static_cast<double>(units) / device.units;
    for (auto& [resource, rate] : device.rates) {
        if (!is_of_whole_chip(resource)) {
            rate.value *= share;
        }
    }
    device.units = units;
}

void take_sizes(Device& device, const CudaProperties& properties) {
    take_known(device.clock_hz, properties.clock_hz);
    take_known(device.memory_bytes, properties.memory_bytes);
    take_known(device.l2_bytes, properties.l2_bytes);
    device.llc_bytes = device.l2_bytes;
    take_known(device.smem_bytes_per_unit, properties.smem_bytes_per_unit);
    take_known(device.smem_bytes_per_cta, properties.smem_bytes_per_cta);
    take_known(device.registers_per_unit, properties.registers_per_unit);
    take_known(device.threads_per_unit, properties.threads_per_unit);
    take_known(device.ctas_per_unit, properties.ctas_per_unit);
}

std::string read_driver(int cuda_version) {
    std::ifstream in("/proc/driver/nvidia/version");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string found = driver_in(text);
    return found.empty() ? fmt::format("CUDA {}.{}", cuda_version / 1000, cuda_version % 1000 / 10)
                         : found;
}

}  // namespace

std::string driver_in(std::string_view text) {
    constexpr std::string_view digits = "0123456789.";
    const std::size_t line = text.find("NVRM version:");
    if (line == std::string_view::npos) {
        return {};
    }
    text = text.substr(line, text.find('\n', line) - line);
    // The version is the first word of digits with a dot; "x86_64" before it has none.
    for (std::size_t begin = text.find_first_of(digits); begin != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (word.find('.') != std::string_view::npos && word.size() > 3) {
            return std::string(word);
        }
        begin = text.find_first_of(digits, end);
    }
    return {};
}

Device cuda_device(const CudaProperties& properties, std::string_view driver) {
    const std::string name = properties.name;
    Device device;
    if (const auto id = device_id_of(name)) {
        device = datasheet_device(*id);
        if (properties.units > 0 && properties.units != device.units) {
            scale_units(device, properties.units);
        }
        device.compute_capability = properties.capability;
        take_sizes(device, properties);
    } else {
        device.id = "cuda";
        device.kind = DeviceKind::cuda;
        device.compute_capability = properties.capability;
        device.units = std::max(1, properties.units);
        take_sizes(device, properties);
        fill_capability_rates(device, properties);
    }
    device.name = name;
    device.driver = driver;
    device.live = true;
    device.rates_id = rates_id_of(device, "datasheet");
    return device;
}

std::optional<Device> live_cuda() {
    CudaProperties properties;
    if (!read_cuda_properties(properties)) {
        return std::nullopt;
    }
    return cuda_device(properties, read_driver(properties.driver_version));
}

}  // namespace raceline

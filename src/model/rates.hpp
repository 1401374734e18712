// SPDX-License-Identifier: Apache-2.0
// Rates as the model reads them from a device.
#pragma once

#include <optional>
#include <string_view>

#include "device/device.hpp"

namespace raceline {

/// The name under which DRAM reads and writes count as one resource.
inline constexpr std::string_view dram = "dram";

[[nodiscard]] bool is_dram(std::string_view id);

/// Ceiling of a resource with all units busy. A device without a write ceiling writes at its read
/// ceiling (datasheets give one bandwidth). Throws Error(unsupported) naming device and resource.
double ceiling(const Device& device, std::string_view id);

/// The same at the clock that the load sustains: a matrix rate that was stated at a higher clock
/// is scaled down by sustained / stated clock; other rates are taken as they are.
double sustained_rate(const Device& device, std::string_view id);

/// What one unit reaches alone: "<id>.unit" where the device has it, else ceiling / units.
double unit_rate(const Device& device, std::string_view id);

/// A time ("floor.…", "latency.…") in seconds, or 0 where the device does not know it.
double known_seconds(const Device& device, std::string_view id);

}  // namespace raceline

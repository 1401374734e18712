// SPDX-License-Identifier: Apache-2.0
// Rates as the model reads them from a device.
#pragma once

#include <optional>
#include <string_view>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline {

/// The name under which DRAM reads and writes count as one resource.
inline constexpr std::string_view dram = "dram";

[[nodiscard]] bool is_dram(std::string_view id);
/// Products of a matrix engine, in whatever type.
[[nodiscard]] bool is_matrix(std::string_view id);
/// Work of the units' own parts, which goes at their clock: DRAM, the L2 and its link have their
/// own.
[[nodiscard]] bool goes_by_unit_clock(std::string_view id);

/// SM clock in Hz while matrix engines work for this share of the time: from the highest, without
/// them, down to the sustained one, which a probe of products alone has found. In between in
/// proportion, as the power is that pulls it down. 0 if the device has no clock.
double clock_under_load(const Device& device, double matrix_share);

/// Ceiling of a resource with all units busy. A device without a write ceiling writes at its read
/// ceiling (datasheets give one bandwidth). Throws Error(unsupported) naming device and resource.
double ceiling(const Device& device, std::string_view id);

/// The same at the clock that the load sustains: a matrix rate that was stated at a higher clock
/// is scaled down by sustained / stated clock; other rates are taken as they are.
double sustained_rate(const Device& device, std::string_view id);

/// The highest known rate of a resource: lasting, burst, or of a scaled one the datasheet's own.
/// Null if the device has none.
const Rate* highest_rate(const Device& device, std::string_view id);

/// Of a matrix rate: the device's highest clock over the one at which its sustained rate holds;
/// else 1.
double highest_over_rate_clock(const Device& device, std::string_view id);

/// What a byte read and a byte written take together beyond what each takes alone: memory turns
/// around between the two. Negative where reads and writes pass each other, as on the two ways
/// between a CPU's cores and its memory, but both together never take less than the longer one.
/// From the copy ceiling; 0 where the device has none.
double turnaround_seconds(const Device& device);
/// The same of three rates in byte/s; `copy` counts bytes read and bytes written.
double turnaround_seconds(double read, double write, double copy);

/// What one unit reaches alone: "<id>.unit" where the device has it, else ceiling / units.
double unit_rate(const Device& device, std::string_view id);

/// sustained_rate and unit_rate.
struct Speed {
    double device = 0;
    double alone = 0;  ///< of one unit
};
Speed speed_of(const Device& device, std::string_view id);

/// The first resource that the work asks for and the device has no rate of; empty: it has all.
std::string_view missing_rate(const Device& device, const Work& work);

/// A time ("floor.…", "latency.…") in seconds, or 0 where the device does not know it.
double known_seconds(const Device& device, std::string_view id);

/// What a CTA waits for a load of all its warps while every unit loads: "<id>.loaded" where the
/// device has it, else the id's own, which is one thread's on an idle device.
double loaded_seconds(const Device& device, std::string_view id);

}  // namespace raceline

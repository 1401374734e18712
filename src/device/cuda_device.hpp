// SPDX-License-Identifier: Apache-2.0
// From the runtime's numbers to a Device; apart from the runtime, so that it is testable anywhere.
#pragma once

#include <string>
#include <string_view>

#include "device/cuda_properties.hpp"
#include "device/device.hpp"

namespace raceline {

/// A GPU in devices/ keeps its datasheet rates (those that follow the SM count are scaled if the
/// count differs) and takes its sizes from `properties`. Another gets id "cuda" and the rates of
/// its compute capability.
Device cuda_device(const CudaProperties& properties, std::string_view driver);

/// Rates from SMs, clocks and bus width by the tables of the CUDA programming guide. A capability
/// that is not in the table takes the row of the highest one below it.
void fill_capability_rates(Device& device, const CudaProperties& properties);

/// "580.95.05" from the text of /proc/driver/nvidia/version; "" if it is not in it.
std::string driver_in(std::string_view version_text);

}  // namespace raceline

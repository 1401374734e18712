// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "model/counts.hpp"
#include "receipt/values.hpp"

namespace raceline {

Roofline roofline(const Device& device, std::span<const Counts> launches);

/// Both layers. Pure: no clock, no file, no global. Throws Error(unsupported) if the device lacks a
/// resource that the kernel needs.
Prediction predict(const Device& device, std::span<const Counts> launches, const LaunchCase& how);

}  // namespace raceline

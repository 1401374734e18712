// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "device/device.hpp"
#include "model/counts.hpp"
#include "receipt/values.hpp"

namespace raceline {

Roofline roofline(const Device& device, std::span<const Counts> launches);

/// Both layers. Pure: no clock, no file, no global. Throws Error(unsupported) if the device lacks a
/// resource that the kernel needs.
Prediction predict(const Device& device, std::span<const Counts> launches, const LaunchCase& how);

/// Of a prediction its `seconds` and `limiter` alone: for whoever asks about many sizes. The name
/// refers into the launches or to a literal.
struct LimitedTime {
    double seconds = 0;
    std::string_view limiter;
};
LimitedTime predict_time(const Device& device, std::span<const Counts> launches,
                         const LaunchCase& how);

}  // namespace raceline

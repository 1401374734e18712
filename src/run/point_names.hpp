// SPDX-License-Identifier: Apache-2.0
// Names of engines and memories as people write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "raceline/point.hpp"

namespace raceline {

/// The point with its engine and memory spelled as the device's rates are: "WGMMA.BF16" and "BF16"
/// in small letters, a type by its name ("bfloat16" is bf16, "fp8" e4m3). What is unknown stays,
/// and judge_point refuses it.
WorkPoint with_known_names(const Device& device, WorkPoint point);

/// What may be written for `engine` and `memory`: the device's rates without their first word; of
/// engines also the types alone.
std::vector<std::string> engine_names(const Device& device);
std::vector<std::string> memory_names(const Device& device);

}  // namespace raceline

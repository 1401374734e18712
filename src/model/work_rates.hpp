// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline {

/// By resource that the launches ask for: where the device's rate comes from, in the words of
/// origin_text (device/rate_origin.hpp). What the device has no rate for is left out.
std::map<std::string, std::string> rates_of(const Device& device,
                                            const std::vector<Counts>& launches);

}  // namespace raceline

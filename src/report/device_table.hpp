// SPDX-License-Identifier: Apache-2.0
// Devices for eyes: all of them side by side, or one with every rate.
#pragma once

#include <span>
#include <string>

#include "device/device.hpp"
#include "support/text_style.hpp"

namespace raceline {

std::string devices_table(std::span<const Device> devices, const TextStyle& style = {});

/// Its sizes, every rate with its source, and what it draws where that is known.
std::string device_text(const Device& device, const TextStyle& style = {});

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// What must be known before a predicted time is taken for one.
#pragma once

#include <string>

#include "device/device.hpp"

namespace raceline {

/// Whether a call of so many seconds is short, and on a GPU whose launch floor nobody measured, so
/// that it counts as nothing.
bool lacks_launch_floor(const Device& device, double seconds);
inline constexpr const char* launch_floor_unknown =
    "no launch floor of this board is known, so a short call takes some microseconds more";

/// "it needs 4.20 TB of memory, and h200 has 151 GB; take a smaller shape", or "" where so many
/// bytes fit. A device whose memory is not known has enough.
std::string why_too_large(double bytes, const Device& device);

/// What stands against running our own CUDA kernels on a device that is older than what they are
/// compiled for, or "". Their times there are what the code would take.
std::string why_not_compiled(const Device& device);

}  // namespace raceline

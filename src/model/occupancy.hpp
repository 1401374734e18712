// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline {

/// CTAs that one unit holds at once. A CPU core runs one task. On a GPU: the least of the limits by
/// CTAs, threads, registers and shared memory (CUDA C++ Programming Guide, "Compute Capabilities";
/// allocation units from the occupancy calculator of the CUDA toolkit). A limit that the device
/// does not state is left out. Throws Error(unsupported) if not even one fits.
int occupancy(const Device& device, const Counts& counts);

/// Empty if at least one CTA fits, else what does not, in a clause.
std::string too_large(const Device& device, const Counts& counts);

/// CTAs that the device holds at once: units × occupancy, whole clusters only.
std::int64_t slots(int units, int residents, int cluster);

}  // namespace raceline

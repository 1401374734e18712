// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "registry/kernel.hpp"

namespace raceline {

/// Every kernel in kernels/ and ladder/, sorted by name within each; built once.
std::span<const Kernel> all_kernels();

/// Throws Error(invalid_argument) with the nearest name if there is none.
const Kernel& find_kernel(std::string_view name);

/// Why this kernel cannot run this workload on this device with any tile, or "" if it can. Engine
/// and missing code are answered here, the rest by the record.
std::string why_not(const Kernel& kernel, const Workload& workload, const Device& device);

}  // namespace raceline

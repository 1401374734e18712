// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "registry/kernel.hpp"

namespace raceline {

/// Every kernel in kernels/ and ladder/, sorted by name within each; built once.
std::span<const Kernel> all_kernels();

/// Throws Error(invalid_argument) with the nearest name if there is none.
const Kernel& find_kernel(std::string_view name);

/// Why this kernel cannot run this workload on this device with any tile, or "" if it can. Engine
/// and missing code are answered here, the rest by the record.
std::string why_not(const Kernel& kernel, const Workload& workload, const Device& device);

/// Of the kernel's machine code, from the build: "host:…", or "sm_90:…" for each architecture that
/// there is device code for. Empty: built without CUDA.
std::vector<std::string_view> code_hashes_of(const Kernel& kernel);

/// The hash of the code that runs on this device, "" if this build has none: the host's, or that of
/// the newest architecture of its generation that it can run.
std::string_view code_hash_of(const Kernel& kernel, const Device& device);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "registry/kernel.hpp"
#include "support/json.hpp"

namespace raceline {

/// Every kernel in kernels/ and ladder/, sorted by name within each; built once.
std::span<const Kernel> all_kernels();

/// By its name in capital letters or small ones. Throws Error(invalid_argument) with the nearest
/// name if there is none.
const Kernel& find_kernel(std::string_view name);

/// The kernel that has this name or had it before, as rows of receipts name it; null if there is
/// none.
const Kernel* kernel_once_called(std::string_view name,
                                 std::span<const Kernel> among = all_kernels());

/// All names that a kernel has had, its present one first, whichever of them is given; of one that
/// has left, the given name alone.
std::vector<std::string> names_of_kernel(std::string_view name,
                                         std::span<const Kernel> among = all_kernels());

/// A row's content with today's names of its kernel and of its tile's fields, so that it can be
/// compared with what is written today. Rows of kernels that have left stay as they are.
Json with_names_of_today(Json row, std::span<const Kernel> among = all_kernels());

/// Why this kernel cannot run this workload on this device with any tile, or "" if it can. Engine
/// and missing code are answered here, the rest by the record.
std::string why_not(const Kernel& kernel, const Workload& workload, const Device& device);
/// The same of one tile: what the record says, then as below.
std::string why_not(const Kernel& kernel, const Workload& workload, int tile, const Device& device);
/// Why the device cannot run such launches, or the model not predict them, or "": a CTA that does
/// not fit on a unit, a rate that the device does not have.
std::string why_not(std::span<const Counts> launches, const Device& device);

/// Of the kernel's machine code, from the build: "host:…", or "sm_90:…" for each architecture that
/// there is device code for. Empty: built without CUDA.
std::vector<std::string_view> code_hashes_of(const Kernel& kernel);

/// The hash of the code that runs on this device, "" if this build has none: the host's, or that of
/// the newest architecture of its generation that it can run.
std::string_view code_hash_of(const Kernel& kernel, const Device& device);

}  // namespace raceline

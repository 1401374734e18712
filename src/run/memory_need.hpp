// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/device.hpp"
#include "registry/kernel.hpp"

namespace raceline {

/// Bytes that running one call takes on the device: inputs, outputs and workspace, and on a CPU the
/// inputs a second time, because the draw that the answer is computed from is kept beside them.
double memory_needed(const Kernel& kernel, int tile, const Workload& workload,
                     const Device& device);

/// The same without the workspace, whose bytes a kernel counts in std::size_t, which has 32 bits in
/// WebAssembly.
double memory_of_tensors(const Workload& workload, const Device& device);

/// Why the call cannot run there for want of memory, with both numbers of bytes, or "". A device
/// whose memory is not known has enough.
std::string why_too_large(const Kernel& kernel, int tile, const Workload& workload,
                          const Device& device);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Measures this machine's ceilings. Knows no attention kernel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/ceiling.hpp"
#include "device/device.hpp"

namespace raceline {

using ProbeProgress = std::function<void(std::string_view what, int done, int total)>;

/// CPU: DRAM read, write, copy; each cache level; FMA and bf16 dot peaks per SIMD target; exp and
/// plain vector operations; parallel-region floor. `threads` 0 means all cores. Under 60 s.
std::vector<Ceiling> probe_cpu(const Device& device, int threads, const ProbeProgress& progress);

/// GPU: DRAM read, write, copy; L2; fp32 FMA; tensor bf16, fp16, e4m3 (burst and sustained); ex2;
/// launch floors. Throws Error(no_device) in a build without CUDA.
std::vector<Ceiling> probe_cuda(const Device& device, const ProbeProgress& progress);

}  // namespace raceline

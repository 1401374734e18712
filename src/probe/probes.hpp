// SPDX-License-Identifier: Apache-2.0
// Measures this machine's ceilings. Knows no attention kernel. How each number is found, and what
// it may not exceed, is told in docs/ceilings.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "receipt/values.hpp"

namespace raceline {

using ProbeProgress = std::function<void(std::string_view what, int done, int total)>;

/// `quick` takes fewer and shorter repetitions: the same ids in the same order within about a tenth
/// of the time, for tests. Its values are noisy and no ceilings.
enum class ProbeEffort { full, quick };

/// CPU: DRAM read, write, copy (bytes read + bytes written); each cache level; FMA and bf16 dot
/// peaks per SIMD target; exp and plain vector operations; parallel-region floor; DRAM latency.
/// `threads` 0 means all cores; below 0 throws Error(invalid_argument). Under 60 s. The same ids in
/// the same order every time on one machine.
std::vector<Ceiling> probe_cpu(const Device& device, int threads, const ProbeProgress& progress,
                               ProbeEffort effort = ProbeEffort::full);

/// GPU: DRAM read, write, copy; L2; shared memory; fp32 FMA; tensor bf16, fp16, e4m3 (burst and
/// sustained); ex2; launch floors; latencies. Under 60 s. Throws Error(no_device) in a build
/// without CUDA or on a machine without a CUDA device, Error(internal) when the driver fails.
std::vector<Ceiling> probe_cuda(const Device& device, const ProbeProgress& progress,
                                ProbeEffort effort = ProbeEffort::full);

/// GPU: joules of a byte, an operation and a flop on each resource, the limit of the board, and
/// what some mixes of two draw, by the board's own meter (NVML). Under 90 s. Throws as probe_cuda
/// does, and Error(internal) where the meter does not count.
std::vector<Ceiling> probe_cuda_power(const Device& device, const ProbeProgress& progress,
                                      ProbeEffort effort = ProbeEffort::full);

}  // namespace raceline

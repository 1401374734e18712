// SPDX-License-Identifier: Apache-2.0
// The parts of the GPU probe. Each appends its ceilings; probe_cuda calls them in order.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "probe/gpu.hpp"
#include "probe/gpu_timer.hpp"
#include "probe/sizes.hpp"
#include "receipt/values.hpp"

namespace raceline::probe {

/// What every step needs.
struct GpuSetting {
    const Device& device;
    const GpuKernels& kernels;
    GpuTimer& timer;
};

struct GpuStep {
    std::string what;  ///< shown as progress
    std::function<void(GpuSetting&, std::vector<Ceiling>&)> run;
};

/// DRAM and L2 bandwidths, shared memory, latencies.
void append_gpu_memory_steps(const Device& device, std::vector<GpuStep>& steps);
/// Where the L2 is in two halves: the link between them, and how much of it serves one of them.
void append_gpu_l2_steps(const Device& device, std::vector<GpuStep>& steps);
/// fp32 FMA, ex2, tensor products (wgmma on compute capability 9.0, mma.sync on all).
void append_gpu_arithmetic_steps(const Device& device, std::vector<GpuStep>& steps);
/// Launches and CTAs.
void append_gpu_floor_steps(const Device& device, std::vector<GpuStep>& steps);

/// Joules of a byte, an operation and a flop on each resource, the board's limit, and how the
/// voltage follows the clock: rows "energy.…" and "power.…". They draw what the board can give for
/// a minute.
void append_gpu_power_steps(const Device& device, std::vector<GpuStep>& steps);

/// What one SM can do in a cycle, from the vendor's tables (CUDA programming guide: throughput of
/// native arithmetic instructions; architecture white papers): 0 where no table says it.
double per_clock_of_unit(std::string_view resource, int compute_capability);

/// The ceiling of a pass, its limit from `per_clock_of_unit` × SMs × the clock beside it.
Ceiling gpu_ceiling(const std::string& resource, const std::string& unit, const GpuPass& pass,
                    const Device& device, const std::string& method);

}  // namespace raceline::probe

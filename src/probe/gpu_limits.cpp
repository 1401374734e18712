// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "probe/gpu_steps.hpp"

namespace raceline::probe {
namespace {

// Flops, operations or bytes a cycle and SM; products dense, fp32 accumulators. For mma.sync the
// numbers are those of the tensor cores behind it, which Hopper's warp-level form does not reach.
struct PerClock {
    std::string_view resource;
    int from, to;  ///< compute capabilities, both inclusive
    double value;
};

constexpr std::array table{
    PerClock{"flop.fma.fp32", 70, 75, 128},    PerClock{"flop.fma.fp32", 80, 80, 128},
    PerClock{"flop.fma.fp32", 86, 129, 256},   PerClock{"op.ex2", 70, 102, 16},
    PerClock{"op.ex2", 120, 129, 16},          PerClock{"byte.smem_lsu", 70, 129, 128},
    PerClock{"flop.wgmma.bf16", 90, 90, 4096}, PerClock{"flop.wgmma.fp16", 90, 90, 4096},
    PerClock{"flop.wgmma.e4m3", 90, 90, 8192}, PerClock{"flop.wgmma.tf32", 90, 90, 2048},
    PerClock{"flop.mma.fp16", 70, 75, 1024},   PerClock{"flop.mma.fp16", 80, 80, 2048},
    PerClock{"flop.mma.bf16", 80, 80, 2048},   PerClock{"flop.mma.fp16", 86, 89, 1024},
    PerClock{"flop.mma.bf16", 86, 89, 1024},   PerClock{"flop.mma.e4m3", 89, 89, 2048},
    PerClock{"flop.mma.fp16", 90, 90, 4096},   PerClock{"flop.mma.bf16", 90, 90, 4096},
    PerClock{"flop.mma.fp16", 120, 129, 1024}, PerClock{"flop.mma.bf16", 120, 129, 1024},
    PerClock{"flop.mma.e4m3", 120, 129, 2048},
};

}  // namespace

double per_clock_of_unit(std::string_view resource, int compute_capability) {
    // Burst and sustained are the same units at another clock.
    constexpr std::string_view burst = ".burst";
    if (resource.ends_with(burst)) {
        resource.remove_suffix(burst.size());
    }
    const auto found = std::find_if(table.begin(), table.end(), [&](const PerClock& row) {
        return row.resource == resource && row.from <= compute_capability &&
               compute_capability <= row.to;
    });
    return found == table.end() ? 0 : found->value;
}

Ceiling gpu_ceiling(const std::string& resource, const std::string& unit, const GpuPass& pass,
                    const Device& device, const std::string& method) {
    Ceiling ceiling;
    ceiling.resource = resource;
    ceiling.value = unit == "s" ? pass.seconds : pass.rate;
    ceiling.unit = unit;
    ceiling.clock_hz = pass.clock_hz;
    ceiling.power_w = pass.power_w;
    ceiling.method =
        pass.variant.empty() ? method : method + "; best of the variants: " + pass.variant;
    ceiling.limit =
        per_clock_of_unit(resource, device.compute_capability) * device.units * pass.clock_hz;
    return ceiling;
}

}  // namespace raceline::probe

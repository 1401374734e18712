// SPDX-License-Identifier: Apache-2.0
// The parts of the CPU probe. Each appends its ceilings; probe_cpu calls them in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "probe/team.hpp"
#include "probe/vector.hpp"
#include "receipt/values.hpp"

namespace raceline::probe {

/// What every step needs.
struct Setting {
    const Device& device;
    int threads = 1;
    Effort effort;
    VectorLoops best;               ///< of the widest target
    std::vector<VectorLoops> sets;  ///< of every target, `best` first
};

struct Step {
    std::string what;  ///< shown as progress
    std::function<void(const Setting&, std::vector<Ceiling>&)> run;
};

/// DRAM bandwidths: a lap before the steps that are there, one among them and one after them.
void spread_dram_laps(const Setting& setting, std::vector<Step>& steps);

/// Cache levels (those whose size the device states), DRAM latency.
void append_memory_steps(const Setting& setting, std::vector<Step>& steps);

/// FMA per target, bf16 dot, exponentials, plain vector operations, parallel region.
void append_arithmetic_steps(const Setting& setting, std::vector<Step>& steps);

}  // namespace raceline::probe

// SPDX-License-Identifier: Apache-2.0
// A pointer chase: every load waits for the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/gpu_steps.hpp"

namespace raceline::probe {

struct Chase {
    std::size_t footprint;
    std::uint32_t stride;
    int steps;
    bool warm;  ///< a whole round before, so that every node lies in the L2
};

/// The successor of each of so many nodes in a random cycle through all of them (Sattolo's
/// shuffle), the same one every time.
std::vector<std::uint32_t> random_cycle(std::uint32_t nodes);

/// One thread of one SM follows the cycle past L1; seconds are those of a step.
GpuPass chase_pass(GpuSetting& with, const Chase& chase);

}  // namespace raceline::probe

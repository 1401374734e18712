// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_mma/plan.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::prefill_mma {

/// What the CTAs do together, and the one that gets the most blocks.
struct Share {
    double blocks = 0;  ///< blocks of keys, over all items
    double keys = 0;    ///< keys that exist in those blocks
    double rows = 0;    ///< query rows that exist in items that have a block
    double items = 0;   ///< that have rows
    double most_blocks = 0;
    double most_masked = 0;  ///< of these, blocks that need a mask
};
Share share_of(const Workload& workload, const Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90/plan.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::prefill_sm90 {

/// What the schedule hands out: whole launch, and the CTA that gets the most blocks.
struct Share {
    double items = 0;
    double blocks = 0;  ///< blocks of keys, over all items
    double worked = 0;  ///< of those what matrix warpgroups do: they leave out what none of their
                        ///< rows sees
    double keys = 0;    ///< keys that exist in those blocks
    double rows = 0;    ///< query rows that exist in items that have a block
    double most_worked = 0;  ///< by one CTA
    double its_items = 0;    ///< of that CTA, those that have a block
};
Share share_of(const Workload& workload, const Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::prefill_sm90

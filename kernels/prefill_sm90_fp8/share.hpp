// SPDX-License-Identifier: Apache-2.0
// How prefill_sm90_fp8's work falls to CTAs and warpgroups.
#pragma once

#include "kernels/prefill_sm90_fp8/plan.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What the schedule hands out: whole launch, and the CTA that gets the most blocks.
struct Share {
    double items = 0;
    double blocks = 0;  ///< blocks of keys, over all items
    double worked = 0;  ///< of those what matrix warpgroups do: they leave out what none of their
                        ///< rows sees
    double keys = 0;    ///< keys that exist in those blocks
    double rows = 0;    ///< query rows that exist in items that have a block
    /// By one CTA, in blocks that all its warpgroups work on: those that keep in step need longer
    /// where some have nothing to do.
    double most_worked = 0;
    double its_items = 0;  ///< of that CTA, those that have a block
    double imbalance = 1;  ///< what that CTA needs over what all need in the mean
};
Share share_of(const Workload& workload, const Plan& plan, const Tile& tile);

}  // namespace raceline::kernels::prefill_sm90_fp8

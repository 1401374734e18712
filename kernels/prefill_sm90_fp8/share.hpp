// SPDX-License-Identifier: Apache-2.0
// How prefill_sm90_fp8's work falls to CTAs and warpgroups.
#pragma once

#include "gpu/tile/share.hpp"
#include "kernels/prefill_sm90_fp8/clocks.hpp"
#include "kernels/prefill_sm90_fp8/plan.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

using gpu::Share;

inline Share share_of(const Workload& workload, const Plan& plan, const Tile& tile) {
    return gpu::share_of(
        workload, plan, tile,
        [&](int warpgroups) { return clocks_of_block(tile, false, warpgroups); },
        [&](int warpgroups, double masked) {
            return clocks_of_item(tile, warpgroups) + masked * clocks_of_mask(tile, warpgroups);
        });
}

}  // namespace raceline::kernels::prefill_sm90_fp8

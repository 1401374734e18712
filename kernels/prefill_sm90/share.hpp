// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/prefill_sm90/counts.hpp"
#include "schedule/share.hpp"

namespace raceline::kernels::hopper {

/// What the schedule hands out, of a type whose clocks of a work tile's ends and of a mask are
/// `clocks_between_tiles` and `clocks_of_mask`.
template <class Tile, class ClocksOfBlock>
schedule::Share share_of(const Workload& w, const schedule::Plan& plan, const Tile& tile,
                         const ClocksOfBlock& clocks_of_block) {
    return schedule::share_of(w, plan, tile, clocks_of_block, [&](int warpgroups, double masked) {
        return clocks_between_tiles(tile, warpgroups) + masked * clocks_of_mask(tile, warpgroups);
    });
}

}  // namespace raceline::kernels::hopper

// SPDX-License-Identifier: Apache-2.0
// What prefill_sm90_fp8 does, and clocks that a matrix warpgroup's steps take. What the compiled
// code and the hardware's rates say is a fifth to a third too little; the rest is fitted to
// measured times, as said at each.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "model/counts.hpp"
#include "schedule/plan.hpp"
#include "schedule/share.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// How a call is cut into work tiles: for counts and launch alike. Lengths at most
/// schedule::longest_length, work tiles at most schedule::most_work_tiles.
inline schedule::Plan make_plan(const Problem& problem, const Tile& tile, const Device& device) {
    return schedule::make_plan(problem, tile.rows, 1, device);
}
/// What the schedule hands out: whole launch, and the CTA that is busy longest.
schedule::Share share_of(const Workload& workload, const schedule::Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// Products: half a clock a column and step of 32 (wgmma of 64 rows at 4096 multiply-adds a clock).
/// Exponentials: a warp's go at eight clocks an instruction. From the compiled loops: a quarter of
/// a clock a key (copying P) and 145 of a warp's own, and six waits of no fixed latency, some 20
/// each; a first block has maxima and six exchanges more. Fitted to a sweep of all tiles
/// (training-16k on an H200, receipts of d6da988; 5 % off in the median): 48 clocks a step of 32,
/// half of them at the issue slots, for which the code gives no reason. Tiles with `prepared` have
/// 40, fitted to one run of six of them at 16k. No block takes less than the busiest transposing
/// warp needs.
double clocks_of_block(const Tile& tile, bool first, int warpgroups);
/// Of a work tile's first block, its softmax alone.
double clocks_of_first_softmax(const Tile& tile, int warpgroups);

/// Clocks of a warp for all that a work tile's end and the next one's begin take beside a steady
/// block, where so many warpgroups have rows; fitted to the sweep named in e4m3_counts.cpp.
double clocks_between_tiles(const Tile& tile, int warpgroups);
/// Of a block's mask.
double clocks_of_mask(const Tile& tile, int warpgroups);

}  // namespace raceline::kernels::prefill_sm90_fp8

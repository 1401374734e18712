// SPDX-License-Identifier: Apache-2.0
// What prefill_mma does, and the clocks that its warps need while they are in each other's way.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_mma/params.hpp"
#include "kernels/prefill_mma/tile.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::prefill_mma {

/// What the CTAs do together, and the one that gets the most blocks.
struct Share {
    double blocks = 0;      ///< blocks of keys, over all work tiles
    double keys = 0;        ///< keys that exist in those blocks
    double rows = 0;        ///< query rows that exist in work tiles that have a block
    double work_tiles = 0;  ///< that have rows
    double most_blocks = 0;
    double most_masked = 0;  ///< of these, blocks that need a mask
};
Share share_of(const Workload& workload, const Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// Clocks of a group of warps, one on each of an SM's four sub-partitions: its chain of
/// instructions with nothing in its way, and what it takes meanwhile of the tensor pipes, of the
/// SM's shared memory, of the exponential units and of the issue slots.
struct GroupClocks {
    double chain = 0, tensor = 0, shared = 0, exponentials = 0, issued = 0;
    double copies = 0;  ///< clocks of shared memory for which nobody waits
};

/// What a group finds before it at each of the four, in groups, that under way included.
struct Queues {
    double tensor = 0, shared = 0, exponentials = 0, issue = 0;
};

/// What one of `groups` finds that all do such blocks, one after the other.
Queues queues_among(const GroupClocks& block, int groups);

/// From start to end of a group's work behind these queues.
double clocks_behind(const GroupClocks& work, const Queues& queues);

/// From start to end of a group's work while `groups`, itself among them, share an SM and
/// the others are at their blocks. Without calibrated constants: the longer of what it takes alone
/// and what as much such work takes at the busiest of the four, which no order of service can
/// beat.
double clocks_among(const GroupClocks& work, const GroupClocks& block, int groups);

/// What the machine code says of a warp and a block of keys that all its rows see, without what
/// the warp waits for: clocks of its stall counts, and instructions.
struct BlockCode {
    double clocks, instructions;
};
BlockCode block_code(const Tile& tile);

/// One block of keys that all rows see. `flops_per_clock`: of mma.sync on one SM.
GroupClocks block_clocks(const Tile& tile, double flops_per_clock, bool softcap);
/// What a block adds in which some rows do not see some keys.
GroupClocks mask_clocks(const Tile& tile);
/// What a work tile takes before its first block and, there, for the bases of its rows.
GroupClocks start_clocks(const Tile& tile);
/// What it takes behind its last block.
GroupClocks finish_clocks(const Tile& tile);

}  // namespace raceline::kernels::prefill_mma

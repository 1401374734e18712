// SPDX-License-Identifier: Apache-2.0
// The blocks of one work tile of a persistent forward kernel: how many its warpgroups work on, how
// many need a mask, how long they take. A tile has rows, keys, stages, turns and warpgroups().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/tile/schedule.hpp"

namespace raceline::schedule {

/// Warpgroups of the work tile that have rows.
inline int working_of(Rows rows) {
    return static_cast<int>(divide_up(rows.count(), 64));
}

/// Blocks of the work tile that a warpgroup works on: its own rows end earlier, or are not there.
template <class Tile>
std::vector<std::int32_t> own_blocks(const Band& band, Rows rows, const Tile& tile) {
    const Blocks blocks = band.blocks(rows, tile.keys);
    std::vector<std::int32_t> own(static_cast<std::size_t>(tile.warpgroups()));
    for (int i = 0; i < working_of(rows); ++i) {
        const Blocks seen = band.blocks(rows.first + 64 * i, 64, tile.keys);
        own[static_cast<std::size_t>(i)] = larger(0, seen.last - blocks.first);
    }
    return own;
}

/// In the mean over the work tile's warpgroups.
template <class Tile>
double worked_of(const Band& band, Rows rows, const Tile& tile) {
    double worked = 0;
    for (const std::int32_t own : own_blocks(band, rows, tile)) {
        worked += own;
    }
    return worked / tile.warpgroups();
}

/// Of the blocks that a warpgroup works on, those in which an end of what some row of it sees lies,
/// or which none of its rows sees any more: they need a mask. In the mean over the warpgroups that
/// have rows.
template <class Tile>
double masked_of(const Band& band, Rows rows, const Tile& tile) {
    const Blocks blocks = band.blocks(rows, tile.keys);
    const std::vector<std::int32_t> own = own_blocks(band, rows, tile);
    const int working = working_of(rows);
    double masked = 0;
    for (int i = 0; i < working; ++i) {
        const std::int32_t count = own[static_cast<std::size_t>(i)];
        const Blocks plain = band.plain(rows.first + 64 * i, 64, tile.keys);
        const Blocks unmasked{larger(blocks.first, plain.first),
                              smaller(blocks.first + count, plain.last)};
        masked += count - unmasked.count();
    }
    return working > 0 ? masked / working : 0;
}

/// Whether warpgroups keep in step: who takes turns, or has no stages to be ahead by, or no other
/// work tile to make up for this one. `alone`: the CTA has few work tiles. Nor is one that has
/// nothing to do ahead of the others by more blocks than there are stages.
template <class Tile>
bool in_step(const Tile& tile, bool alone, std::int32_t ahead) {
    return tile.turns != 0 || tile.stages <= 2 || alone || ahead > tile.stages;
}

/// What a work tile takes, in blocks that all warpgroups work on.
struct TakenBlocks {
    double all = 0;
    double first = 0;  ///< of these, the work tile's first block
};

/// In step, a block that only one warpgroup works on takes the time of one. Others drift apart
/// until nobody waits. `clocks_of_block`: of a block, by the number of warpgroups that work on it.
template <class Tile, class ClocksOfBlock>
TakenBlocks taken_by(const Band& band, Rows rows, const Tile& tile, bool alone,
                     const ClocksOfBlock& clocks_of_block) {
    std::vector<std::int32_t> own = own_blocks(band, rows, tile);
    std::sort(own.begin(), own.end(), std::greater<>());
    const double whole = clocks_of_block(tile.warpgroups());
    const int working = working_of(rows);
    TakenBlocks taken;
    if (in_step(tile, alone, own.front() - own.back())) {
        own.push_back(0);
        for (int some = 1; some <= tile.warpgroups(); ++some) {
            const auto at = static_cast<std::size_t>(some);
            taken.all += (own[at - 1] - own[at]) * clocks_of_block(some) / whole;
        }
        taken.first = working > 0 ? clocks_of_block(working) / whole : 0;
    } else {
        taken.all = worked_of(band, rows, tile);
        taken.first = static_cast<double>(working) / tile.warpgroups();
    }
    taken.first = std::min(taken.first, taken.all);
    return taken;
}

}  // namespace raceline::schedule

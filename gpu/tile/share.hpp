// SPDX-License-Identifier: Apache-2.0
// How the work of a persistent forward kernel falls to CTAs and warpgroups. A tile has rows, keys,
// stages, turns and warpgroups().
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "gpu/tile/plan.hpp"

namespace raceline::gpu {

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

// Beyond this many items CTAs get so many each that the unevenness of one more does not show.
inline constexpr std::int32_t items_walked = 1 << 18;

inline Band band_of(const Workload& w, const Plan& plan, std::int64_t b) {
    Band band = plan.band;
    if (w.ragged()) {
        band.length_q = static_cast<std::int32_t>(w.length_q(b));
        band.length_k = static_cast<std::int32_t>(w.length_k(b));
    }
    return band;
}

template <class Tile>
Blocks blocks_of(const Band& band, std::int32_t row, const Tile& tile) {
    return row < band.length_q ? band.blocks(row, tile.rows, tile.keys) : Blocks{0, 0};
}

// Blocks of the item that a warpgroup works on: its own rows end earlier, or are not there.
template <class Tile>
std::vector<std::int32_t> own_blocks(const Band& band, std::int32_t row, const Tile& tile) {
    const Blocks blocks = blocks_of(band, row, tile);
    std::vector<std::int32_t> own(static_cast<std::size_t>(tile.warpgroups()));
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::int32_t first = row + 64 * static_cast<std::int32_t>(i);
        if (first < band.length_q) {
            own[i] = larger(0, band.blocks(first, 64, tile.keys).last - blocks.first);
        }
    }
    return own;
}

// In the mean over the item's warpgroups.
template <class Tile>
double worked_of(const Band& band, std::int32_t row, const Tile& tile) {
    double worked = 0;
    for (const std::int32_t own : own_blocks(band, row, tile)) {
        worked += own;
    }
    return worked / tile.warpgroups();
}

// What the item's blocks take, in clocks of a block that all warpgroups work on. Who takes turns,
// or has no stages to be ahead by, or no other item to make up for this one, keeps in step: a block
// that only one warpgroup works on takes the time of one. Others drift apart until nobody waits.
template <class Tile, class ClocksOfBlock>
double taken_by(const Band& band, std::int32_t row, const Tile& tile, bool alone,
                const ClocksOfBlock& clocks_of_block) {
    if (tile.turns == 0 && tile.stages > 2 && !alone) {
        return worked_of(band, row, tile);
    }
    std::vector<std::int32_t> own = own_blocks(band, row, tile);
    std::sort(own.begin(), own.end(), std::greater<>());
    own.push_back(0);
    double clocks = 0;
    for (int working = 1; working <= tile.warpgroups(); ++working) {
        const auto at = static_cast<std::size_t>(working);
        clocks += (own[at - 1] - own[at]) * clocks_of_block(working);
    }
    return clocks / clocks_of_block(tile.warpgroups());
}

template <class Tile>
void add_sequence(Share& share, const Band& band, const Tile& tile, double heads) {
    for (std::int32_t row = 0; row < band.length_q; row += tile.rows) {
        const Blocks blocks = blocks_of(band, row, tile);
        if (blocks.count() > 0) {
            share.blocks += heads * blocks.count();
            share.worked += heads * worked_of(band, row, tile);
            share.keys += heads * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += heads * smaller(tile.rows, band.length_q - row);
        }
    }
}

// What a CTA has to do.
struct Load {
    double worked = 0;
    double items = 0;  ///< of those with a block
    void add(double blocks) {
        worked += blocks;
        items += blocks > 0 ? 1 : 0;
    }
    bool operator<(const Load& other) const { return worked < other.worked; }
    bool operator>(const Load& other) const { return worked > other.worked; }
};

template <class BlocksOfItem>
std::vector<Load> fixed_shares(const Plan& plan, std::int32_t items, const BlocksOfItem& blocks) {
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));
    for (std::int32_t cta = 0; cta < plan.ctas; ++cta) {
        for (std::int32_t round = 0;; ++round) {
            const std::int32_t index = index_of(cta, plan.ctas, round, items);
            if (index == items) {
                break;
            }
            loads[static_cast<std::size_t>(cta)].add(blocks(index));
        }
    }
    return loads;
}

// Whoever has done the least so far takes the next item.
template <class BlocksOfItem>
std::vector<Load> handed_out(const Plan& plan, std::int32_t items, const BlocksOfItem& blocks) {
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));  // a heap, the least in front
    for (std::int32_t index = 0; index < items; ++index) {
        std::pop_heap(loads.begin(), loads.end(), std::greater<>());
        loads.back().add(blocks(index));
        std::push_heap(loads.begin(), loads.end(), std::greater<>());
    }
    return loads;
}

/// `clocks_of_block`: of a block, by the number of warpgroups that work on it.
template <class Tile, class ClocksOfBlock>
Share share_of(const Workload& w, const Plan& plan, const Tile& tile,
               const ClocksOfBlock& clocks_of_block) {
    Share share;
    const std::int32_t items = plan.order.items();
    share.items = items;
    if (w.ragged()) {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            add_sequence(share, band_of(w, plan, b), tile, static_cast<double>(w.heads_q));
        }
    } else {
        add_sequence(share, plan.band, tile, plan.order.heads);
    }
    if (items > items_walked) {
        share.most_worked = share.worked / plan.ctas;
        share.its_items = share.items / plan.ctas;
        return share;
    }
    const bool alone = items < 2 * plan.ctas;
    const auto blocks_of_item = [&](std::int32_t index) {
        const Item item = plan.order.item(index);
        const std::int32_t row = item.row_tile * tile.rows;
        const Band band = band_of(w, plan, item.head / w.heads_q);
        return row < band.length_q ? taken_by(band, row, tile, alone, clocks_of_block) : 0.0;
    };
    const std::vector<Load> loads = plan.handed_out ? handed_out(plan, items, blocks_of_item)
                                                    : fixed_shares(plan, items, blocks_of_item);
    const Load most = *std::max_element(loads.begin(), loads.end());
    share.most_worked = most.worked;
    share.its_items = most.items;
    double all = 0;
    for (const Load& load : loads) {
        all += load.worked;
    }
    share.imbalance = all > 0 ? most.worked * plan.ctas / all : 1;
    return share;
}

}  // namespace raceline::gpu

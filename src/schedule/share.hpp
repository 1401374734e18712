// SPDX-License-Identifier: Apache-2.0
// How the work of a persistent forward kernel falls to CTAs and warpgroups. A tile has rows, keys,
// stages, turns and warpgroups().
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/plan.hpp"
#include "schedule/work_tile_blocks.hpp"

namespace raceline::schedule {

/// What a CTA has to do.
struct Load {
    double worked = 0;      ///< in blocks that all its warpgroups work on: those that keep in step
                            ///< need longer where some have nothing to do
    double items = 0;       ///< of those with a block
    double firsts = 0;      ///< of `worked`, the first blocks of these work tiles
    double masked = 0;      ///< blocks of a warpgroup that need a mask
    double warpgroups = 0;  ///< that have rows, summed over these work tiles
    double taken = 0;       ///< time, in the same blocks: also of what stands between work tiles

    void add(const Load& item, double times = 1) {
        worked += times * item.worked;
        items += times * item.items;
        firsts += times * item.firsts;
        masked += times * item.masked;
        warpgroups += times * item.warpgroups;
        taken += times * item.taken;
    }
    bool operator<(const Load& other) const { return taken < other.taken; }
};

/// What the schedule hands out: whole launch, and the CTA that is busy longest.
struct Share {
    double items = 0;
    double blocks = 0;  ///< blocks of keys, over all work tiles
    double worked = 0;  ///< of those what matrix warpgroups do: they leave out what none of their
                        ///< rows sees
    double keys = 0;    ///< keys that exist in those blocks
    double rows = 0;    ///< query rows that exist in work tiles that have a block
    Load most;
    double imbalance = 1;  ///< what that CTA needs over what all need in the mean
};

// Beyond this many work tiles CTAs get so many each that the unevenness of one more does not show.
inline constexpr std::int32_t work_tiles_walked = 1 << 18;

inline Band band_of(const Workload& w, const Plan& plan, std::int64_t b) {
    Band band = plan.band;
    if (w.ragged()) {
        band.length_q = static_cast<std::int32_t>(w.length_q(b));
        band.length_k = static_cast<std::int32_t>(w.length_k(b));
    }
    return band;
}

template <class LoadOfItem>
std::vector<Load> fixed_shares(const Plan& plan, std::int32_t items,
                               const LoadOfItem& load_of_item) {
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));
    for (std::int32_t cta = 0; cta < plan.ctas; ++cta) {
        for (std::int32_t round = 0;; ++round) {
            const std::int32_t index = index_of(cta, plan.ctas, round, items);
            if (index == items) {
                break;
            }
            loads[static_cast<std::size_t>(cta)].add(load_of_item(index));
        }
    }
    return loads;
}

/// A CTA draws a work tile `ahead` blocks before the end of the one before it, so that its copies
/// can come early, or when that one begins: what it has to do until then does not count. At the
/// start all draw at once, in order.
template <class LoadOfItem>
std::vector<Load> handed_out(const Plan& plan, std::int32_t items, double ahead,
                             const LoadOfItem& load_of_item) {
    struct Draw {
        double when;
        std::int32_t cta;
        auto operator<=>(const Draw&) const = default;
    };
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));
    std::vector<Draw> draws;  // a heap, the next one in front
    for (std::int32_t cta = 0; cta < plan.ctas; ++cta) {
        Load& load = loads[static_cast<std::size_t>(cta)];
        load.add(load_of_item(cta));
        draws.push_back({std::max(0.0, load.taken - ahead), cta});
    }
    std::make_heap(draws.begin(), draws.end(), std::greater<>());
    for (std::int32_t index = plan.ctas; index < items; ++index) {
        std::pop_heap(draws.begin(), draws.end(), std::greater<>());
        Load& load = loads[static_cast<std::size_t>(draws.back().cta)];
        const double begins = load.taken;
        load.add(load_of_item(index));
        draws.back().when = std::max(begins, load.taken - ahead);  // the next is drawn
        std::push_heap(draws.begin(), draws.end(), std::greater<>());
    }
    return loads;
}

/// What one work tile is to the CTA that gets it. `clocks_of_item`: of what stands between two work
/// tiles, by the number of warpgroups that have rows and of their blocks that need a mask.
template <class Tile, class ClocksOfBlock, class ClocksOfItem>
Load load_of(const Band& band, Rows rows, const Tile& tile, bool alone,
             const ClocksOfBlock& clocks_of_block, const ClocksOfItem& clocks_of_item) {
    const TakenBlocks taken = taken_by(band, rows, tile, alone, clocks_of_block);
    if (taken.all == 0) {
        return {};
    }
    const int working = working_of(rows);
    const double masked = masked_of(band, rows, tile);
    const double between = clocks_of_item(working, masked) / clocks_of_block(tile.warpgroups());
    return {taken.all, 1, taken.first, masked, static_cast<double>(working), taken.all + between};
}

/// Adds a sequence's work tiles to what is handed out, `heads` times. Returns the loads of one
/// head, by tile of rows.
template <class Tile, class ClocksOfBlock, class ClocksOfItem>
std::vector<Load> add_sequence(Share& share, const Band& band, const Tile& tile, double heads,
                               bool alone, const ClocksOfBlock& clocks_of_block,
                               const ClocksOfItem& clocks_of_item) {
    std::vector<Load> loads;
    const auto tiles = static_cast<std::int32_t>(divide_up(band.length_q, tile.rows));
    for (std::int32_t i = 0; i < tiles; ++i) {
        const Rows rows = rows_of_tile(i, band.length_q, tile.rows);
        const Blocks blocks = band.blocks(rows, tile.keys);
        if (blocks.count() > 0) {
            share.blocks += heads * blocks.count();
            share.worked += heads * worked_of(band, rows, tile);
            share.keys += heads * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += heads * rows.count();
        }
        loads.push_back(load_of(band, rows, tile, alone, clocks_of_block, clocks_of_item));
    }
    return loads;
}

/// `clocks_of_block`: of a block, by the number of warpgroups that work on it. `clocks_of_item`:
/// see load_of.
template <class Tile, class ClocksOfBlock, class ClocksOfItem>
Share share_of(const Workload& w, const Plan& plan, const Tile& tile,
               const ClocksOfBlock& clocks_of_block, const ClocksOfItem& clocks_of_item) {
    Share share;
    const std::int32_t items = plan.order.work_tiles();
    share.items = items;
    const bool alone = items < 2 * plan.ctas;
    // A sequence's heads are alike.
    const std::int64_t sequences = w.ragged() ? w.batch : 1;
    const double heads = w.ragged() ? static_cast<double>(w.heads_q) : plan.order.heads;
    std::vector<std::vector<Load>> loads_of_head;
    Load mean;
    for (std::int64_t b = 0; b < sequences; ++b) {
        loads_of_head.push_back(add_sequence(share, band_of(w, plan, b), tile, heads, alone,
                                             clocks_of_block, clocks_of_item));
        for (const Load& load : loads_of_head.back()) {
            mean.add(load, heads / plan.ctas);
        }
        if (items > work_tiles_walked) {
            loads_of_head.clear();
        }
    }
    if (items > work_tiles_walked) {
        share.most = mean;
        return share;
    }
    const auto load_of_item = [&](std::int32_t index) {
        const WorkTile item = plan.order.work_tile(index);
        const std::int64_t b = w.ragged() ? item.head / w.heads_q : 0;
        const std::vector<Load>& loads = loads_of_head[static_cast<std::size_t>(b)];
        const auto tile_of_rows = static_cast<std::size_t>(item.row_tile);
        return tile_of_rows < loads.size() ? loads[tile_of_rows] : Load{};
    };
    // Copies are ahead of the work by the stages.
    const std::vector<Load> loads =
        plan.handed_out ? handed_out(plan, items, draw_lead + tile.stages, load_of_item)
                        : fixed_shares(plan, items, load_of_item);
    share.most = *std::max_element(loads.begin(), loads.end());
    share.imbalance = mean.taken > 0 ? share.most.taken / mean.taken : 1;
    return share;
}

}  // namespace raceline::schedule

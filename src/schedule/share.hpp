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
#include "workload/row_blocks.hpp"

namespace raceline::schedule {

/// What a CTA has to do.
struct Load {
    double worked = 0;      ///< in blocks that all its warpgroups work on: those that keep in step
                            ///< need longer where some have nothing to do
    double work_tiles = 0;  ///< of those with a block
    double firsts = 0;      ///< of `worked`, the first blocks of these work tiles
    double masked = 0;      ///< blocks of a warpgroup that need a mask
    double warpgroups = 0;  ///< that have rows, summed over these work tiles
    double taken = 0;       ///< time, in the same blocks: also of what stands between work tiles

    void add(const Load& tile, double times = 1) {
        worked += times * tile.worked;
        work_tiles += times * tile.work_tiles;
        firsts += times * tile.firsts;
        masked += times * tile.masked;
        warpgroups += times * tile.warpgroups;
        taken += times * tile.taken;
    }
    bool operator<(const Load& other) const { return taken < other.taken; }
};

/// What the schedule hands out: whole launch, and the CTA that is busy longest.
struct Share {
    double work_tiles = 0;
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
// Of the tiles of rows of one sequence, so many are then looked at between two bends of the mask.
inline constexpr std::int32_t row_tiles_sampled = 1 << 12;

template <class LoadOfTile>
std::vector<Load> fixed_shares(const Plan& plan, std::int32_t work_tiles,
                               const LoadOfTile& load_of_tile) {
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));
    for (std::int32_t cta = 0; cta < plan.ctas; ++cta) {
        for (std::int32_t round = 0;; ++round) {
            const std::int32_t index = index_of(cta, plan.ctas, round, work_tiles);
            if (index == work_tiles) {
                break;
            }
            loads[static_cast<std::size_t>(cta)].add(load_of_tile(index));
        }
    }
    return loads;
}

/// A CTA draws a work tile `ahead` blocks before the end of the one before it, so that its copies
/// can come early, or when that one begins: what it has to do until then does not count. At the
/// start all draw at once, in order.
template <class LoadOfTile>
std::vector<Load> handed_out(const Plan& plan, std::int32_t work_tiles, double ahead,
                             const LoadOfTile& load_of_tile) {
    struct Draw {
        double when;
        std::int32_t cta;
        auto operator<=>(const Draw&) const = default;
    };
    std::vector<Load> loads(static_cast<std::size_t>(plan.ctas));
    std::vector<Draw> draws;  // a heap, the next one in front
    for (std::int32_t cta = 0; cta < plan.ctas; ++cta) {
        Load& load = loads[static_cast<std::size_t>(cta)];
        load.add(load_of_tile(cta));
        draws.push_back({std::max(0.0, load.taken - ahead), cta});
    }
    std::make_heap(draws.begin(), draws.end(), std::greater<>());
    for (std::int32_t index = plan.ctas; index < work_tiles; ++index) {
        std::pop_heap(draws.begin(), draws.end(), std::greater<>());
        Load& load = loads[static_cast<std::size_t>(draws.back().cta)];
        const double begins = load.taken;
        load.add(load_of_tile(index));
        draws.back().when = std::max(begins, load.taken - ahead);  // the next is drawn
        std::push_heap(draws.begin(), draws.end(), std::greater<>());
    }
    return loads;
}

/// What one work tile is to the CTA that gets it. `clocks_between`: of what stands between two work
/// tiles, by the number of warpgroups that have rows and of their blocks that need a mask.
template <class Tile, class ClocksOfBlock, class ClocksBetween>
Load load_of(const Band& band, Rows rows, const Tile& tile, bool alone,
             const ClocksOfBlock& clocks_of_block, const ClocksBetween& clocks_between) {
    const TakenBlocks taken = taken_by(band, rows, tile, alone, clocks_of_block);
    if (taken.all == 0) {
        return {};
    }
    const int working = working_of(rows);
    const double masked = masked_of(band, rows, tile);
    const double between = clocks_between(working, masked) / clocks_of_block(tile.warpgroups());
    return {taken.all, 1, taken.first, masked, static_cast<double>(working), taken.all + between};
}

/// A load, and how many it stands for.
struct CountedLoad {
    Load load;
    double times;
};

/// Adds a sequence's work tiles to what is handed out, `heads` times. Returns the loads of one
/// head, by tile of rows, and how many tiles of rows each stands for: one, unless there are more
/// than `most` between two bends of the mask.
template <class Tile, class ClocksOfBlock, class ClocksBetween>
std::vector<CountedLoad> add_sequence(Share& share, const Band& band, const Tile& tile,
                                      double heads, bool alone, std::int32_t most,
                                      const ClocksOfBlock& clocks_of_block,
                                      const ClocksBetween& clocks_between) {
    std::vector<CountedLoad> loads;
    const WideBand wide{band.length_q, band.length_k, band.left, band.right};
    visit_blocks(wide, 1, tile.rows, most, [&](CountedBlock counted) {
        const auto times = static_cast<double>(counted.times);
        const Rows rows =
            rows_of_tile(static_cast<std::int32_t>(counted.block), band.length_q, tile.rows);
        const Blocks blocks = band.blocks(rows, tile.keys);
        if (blocks.count() > 0) {
            const double alike = heads * times;
            share.blocks += alike * blocks.count();
            share.worked += alike * worked_of(band, rows, tile);
            share.keys += alike * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += alike * rows.count();
        }
        loads.push_back({load_of(band, rows, tile, alone, clocks_of_block, clocks_between), times});
    });
    return loads;
}

/// `clocks_of_block`: of a block, by the number of warpgroups that work on it. `clocks_between`:
/// see load_of.
template <class Tile, class ClocksOfBlock, class ClocksBetween>
Share share_of(const Workload& w, const Plan& plan, const Tile& tile,
               const ClocksOfBlock& clocks_of_block, const ClocksBetween& clocks_between) {
    Share share;
    const std::int32_t work_tiles = plan.order.work_tiles();
    share.work_tiles = work_tiles;
    const bool alone = work_tiles < 2 * plan.ctas;
    const bool walked = work_tiles <= work_tiles_walked;
    const std::int32_t most = walked ? work_tiles_walked : row_tiles_sampled;
    // A sequence's heads are alike.
    const std::int64_t sequences = w.ragged() ? w.batch : 1;
    const double heads = w.ragged() ? static_cast<double>(w.heads_q) : plan.order.heads;
    std::vector<std::vector<CountedLoad>> loads_of_head;
    Load mean;
    for (std::int64_t b = 0; b < sequences; ++b) {
        loads_of_head.push_back(add_sequence(share, band_of(w, plan.band, b), tile, heads, alone,
                                             most, clocks_of_block, clocks_between));
        for (const auto& [load, times] : loads_of_head.back()) {
            mean.add(load, heads / plan.ctas * times);
        }
        if (!walked) {
            loads_of_head.clear();
        }
    }
    if (!walked) {
        share.most = mean;
        return share;
    }
    const auto load_of_tile = [&](std::int32_t index) {
        const WorkTile work_tile = plan.order.work_tile(index);
        const std::int64_t b = w.ragged() ? work_tile.head / w.heads_q : 0;
        const std::vector<CountedLoad>& loads = loads_of_head[static_cast<std::size_t>(b)];
        const auto tile_of_rows = static_cast<std::size_t>(work_tile.row_tile);
        return tile_of_rows < loads.size() ? loads[tile_of_rows].load : Load{};
    };
    // Copies are ahead of the work by the stages.
    const std::vector<Load> loads =
        plan.handed_out ? handed_out(plan, work_tiles, draw_lead + tile.stages, load_of_tile)
                        : fixed_shares(plan, work_tiles, load_of_tile);
    share.most = *std::max_element(loads.begin(), loads.end());
    share.imbalance = mean.taken > 0 ? share.most.taken / mean.taken : 1;
    return share;
}

}  // namespace raceline::schedule

// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/share.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/prefill_sm90_fp8/clocks.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

// Beyond this many items CTAs get so many each that the unevenness of one more does not show.
constexpr std::int32_t items_walked = 1 << 18;

Band band_of(const Workload& w, const Plan& plan, std::int64_t b) {
    Band band = plan.band;
    if (w.ragged()) {
        band.length_q = static_cast<std::int32_t>(w.length_q(b));
        band.length_k = static_cast<std::int32_t>(w.length_k(b));
    }
    return band;
}

Blocks blocks_of(const Band& band, std::int32_t row, const Tile& tile) {
    return row < band.length_q ? band.blocks(row, tile.rows, tile.keys) : Blocks{0, 0};
}

// Blocks of the item that a warpgroup works on: its own rows end earlier, or are not there.
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
double worked_of(const Band& band, std::int32_t row, const Tile& tile) {
    double worked = 0;
    for (const std::int32_t own : own_blocks(band, row, tile)) {
        worked += own;
    }
    return worked / tile.warpgroups();
}

// What the item's blocks take, in clocks of a block that all warpgroups work on. Who takes turns,
// or has no stages to be ahead by, keeps in step: a block that only one warpgroup works on takes
// the time of one. Others drift apart until nobody waits.
double taken_by(const Band& band, std::int32_t row, const Tile& tile) {
    if (tile.turns == 0 && tile.stages > 2) {
        return worked_of(band, row, tile);
    }
    std::vector<std::int32_t> own = own_blocks(band, row, tile);
    std::sort(own.begin(), own.end(), std::greater<>());
    own.push_back(0);
    double clocks = 0;
    for (int working = 1; working <= tile.warpgroups(); ++working) {
        const auto at = static_cast<std::size_t>(working);
        clocks += (own[at - 1] - own[at]) * clocks_of_block(tile, false, working);
    }
    return clocks / clocks_of_block(tile, false, tile.warpgroups());
}

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

}  // namespace

Share share_of(const Workload& w, const Plan& plan, const Tile& tile) {
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
    const auto blocks_of_item = [&](std::int32_t index) {
        const Item item = plan.order.item(index);
        const std::int32_t row = item.row_tile * tile.rows;
        const Band band = band_of(w, plan, item.head / w.heads_q);
        return row < band.length_q ? taken_by(band, row, tile) : 0.0;
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

}  // namespace raceline::kernels::prefill_sm90_fp8

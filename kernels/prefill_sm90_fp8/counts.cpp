// SPDX-License-Identifier: Apache-2.0
// prefill_sm90_fp8's work as its code does it: whole blocks, masked parts, padding of rows, keys
// and head dims included; nothing timed.
#include "kernels/prefill_sm90_fp8/counts.hpp"

#include <algorithm>
#include <functional>

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

// Beyond this many items CTAs get so many each that the unevenness of one more does not show.
constexpr std::int32_t items_walked = 1 << 18;

Work operator*(Work work, double factor) {
    for (auto& [id, amount] : work) {
        amount *= factor;
    }
    return work;
}

Work operator+(Work a, const Work& b) {
    for (const auto& [id, amount] : b) {
        a[id] += amount;
    }
    return a;
}

// A CTA's blocks are one stream over all its items: first the scores and the softmax of a block,
// then for every other block its scores, its softmax and the values of the block before, at last
// values.
struct Pieces {
    Work scores, softmax, values, start, finish;
};

Pieces pieces_of(const Workload& w, const Tile& t) {
    const double rows = t.rows;
    const double keys = t.keys;
    const double warpgroups = t.warpgroups();
    // A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
    constexpr double slot = 2;
    Pieces p;
    p.scores["flop.wgmma.e4m3"] = 2 * rows * keys * t.headdim;
    // Every warpgroup reads its rows of Q and the whole block of K.
    p.scores["byte.smem_mma"] = t.q_bytes() + warpgroups * t.block_bytes();
    p.scores["byte.l2"] = keys * static_cast<double>(w.headdim);
    p.values["flop.wgmma.e4m3"] = 2 * rows * keys * t.headdim;
    p.values["byte.smem_mma"] = warpgroups * t.block_bytes();
    p.values["byte.l2"] = keys * static_cast<double>(w.headdim_v);
    // V is read once and written once more on its way into the order that the products want.
    p.values["byte.smem_lsu"] = 2 * t.block_bytes();
    // One exponential a score, one a thread and row for what was summed before.
    p.softmax["op.ex2"] = rows * keys + rows * 4;
    // A score: maximum, multiply-add, sum, three quarters of a conversion. An output: what
    // promotion adds. The multiplications when a maximum moves come once in many blocks.
    p.softmax["flop.fma.fp32"] = slot * rows * (keys * 3.75 + t.promote * t.headdim);
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim);
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * t.headdim * 1.5;
    return p;
}

// Clocks of a matrix warp from one block to the next with nothing in its way. Read from the
// compiled loops of all tiles, as the sum of the stall counts in their instructions: 7.1 a key
// (maxima, exponentials at eight a warp, sums, conversion), 270 for everything else, and one for
// each output of a thread that promotion adds; what has no fixed latency is two rounds of shuffles,
// a vote, a turn and four barriers, some 20 each. It waits for its own scores: half a clock a
// column of K and step of 32; and, where promotion goes by parts, likewise for all but the first.
double clocks_of_block(const Tile& t) {
    const double keys = t.keys;
    const double scores = t.headdim / 32.0 * keys / 2;
    const double later_parts = keys / 32 * (t.headdim - t.promoted_columns()) / 2;
    return 7.1 * keys + 270 + t.promote * (t.headdim / 2.0 + later_parts) + 8 * 20 + scores;
}

std::vector<Step> steps_of(const Share& share, const Pieces& p, const Tile& tile) {
    const double any = share.most_blocks > 0 ? 1 : 0;
    return {{"start", any, p.start, "latency.l2"},
            {"first scores", any, p.scores, ""},
            {"first softmax", any, p.softmax, ""},
            {"block", share.most_blocks - any, p.scores + p.softmax + p.values, "",
             clocks_of_block(tile)},
            {"last values", any, p.values, ""},
            {"finish", share.its_items, p.finish, ""}};
}

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

void add_sequence(Share& share, const Band& band, const Tile& tile, double heads) {
    for (std::int32_t row = 0; row < band.length_q; row += tile.rows) {
        const Blocks blocks = blocks_of(band, row, tile);
        if (blocks.count() > 0) {
            share.blocks += heads * blocks.count();
            share.keys += heads * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += heads * smaller(tile.rows, band.length_q - row);
        }
    }
}

// What a CTA has to do.
struct Load {
    double blocks = 0;
    double items = 0;  ///< of those with a block
    void add(std::int32_t count) {
        blocks += count;
        items += count > 0 ? 1 : 0;
    }
    bool operator<(const Load& other) const { return blocks < other.blocks; }
    bool operator>(const Load& other) const { return blocks > other.blocks; }
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
        share.most_blocks = share.blocks / plan.ctas;
        share.its_items = share.items / plan.ctas;
        return share;
    }
    const auto blocks_of_item = [&](std::int32_t index) {
        const Item item = plan.order.item(index);
        return blocks_of(band_of(w, plan, item.head / w.heads_q), item.row_tile * tile.rows, tile)
            .count();
    };
    const std::vector<Load> loads = plan.handed_out ? handed_out(plan, items, blocks_of_item)
                                                    : fixed_shares(plan, items, blocks_of_item);
    const Load most = *std::max_element(loads.begin(), loads.end());
    share.most_blocks = most.blocks;
    share.its_items = most.items;
    return share;
}

namespace {

// Keys and values are read once an item. CTAs that work on one head walk its keys at the same time
// and share each pass; passes of different times share what the L2 keeps of the heads in work.
void add_rereads(Counts& c, const Workload& w, const Plan& plan, double bytes, const Tile& tile) {
    const double items_per_kv_head =
        static_cast<double>(plan.order.row_tiles) * static_cast<double>(w.group());
    const double heads_kv_at_once = std::max(
        {1.0, static_cast<double>(plan.order.heads_per_group) / static_cast<double>(w.group()),
         plan.ctas / items_per_kv_head});
    const double sharing = std::max(1.0, plan.ctas / heads_kv_at_once);
    const double passes = std::max(w.bytes_kv(), bytes / sharing);
    const auto row_bytes = static_cast<double>(w.headdim + w.headdim_v);
    c.reread.push_back(
        {passes - w.bytes_kv(), heads_kv_at_once * static_cast<double>(w.seqlen_k) * row_bytes});
    c.reread.push_back(
        {std::max(0.0, bytes - passes), 2.0 * tile.stages * tile.block_bytes() * plan.ctas});
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(shape_of(w), tile, device);
    const Share share = share_of(w, plan, tile);
    const Pieces p = pieces_of(w, tile);
    const auto kv_row_bytes = static_cast<double>(w.headdim + w.headdim_v);
    const auto q_row_bytes = static_cast<double>(w.headdim);
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);

    Counts c;
    c.launch = "main";
    c.work = (p.scores + p.softmax + p.values) * share.blocks + p.finish * share.items;
    c.work["byte.l2"] =
        share.keys * kv_row_bytes + share.rows * q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;
    add_rereads(c, w, plan, share.keys * kv_row_bytes, tile);

    c.ctas = std::max(1, plan.ctas);
    c.threads = tile.threads();
    c.registers = register_split(tile).entry;
    c.smem_bytes = shared_bytes(tile);
    c.bytes_in_flight = 2.0 * tile.stages * tile.block_bytes();
    const double mean = share.blocks / static_cast<double>(c.ctas);
    c.imbalance = mean > 0 ? std::max(1.0, share.most_blocks / mean) : 1;
    c.balanced_order = true;
    c.steps = steps_of(share, p, tile);
    // Products and the transposition of V, other warps' work, run beside everything; a softmax's
    // exponentials stand between its other operations.
    for (const char* id : {"op.ex2", "flop.fma.fp32"}) {
        c.overlap.push_back({"flop.wgmma.e4m3", id, "byte.smem_mma", "byte.smem_lsu", "byte.l2",
                             "byte.dram_read", "byte.dram_write"});
    }
    return {c};
}

}  // namespace raceline::kernels::prefill_sm90_fp8

// SPDX-License-Identifier: Apache-2.0
// prefill_sm90's work as its code does it: whole blocks, masked parts, padding of rows, keys and
// head dims included; nothing timed.
#include "kernels/prefill_sm90/counts.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace raceline::kernels::prefill_sm90 {
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
    Work scores, first_softmax, softmax, values, start, finish;
};

Pieces pieces_of(const Workload& w, const Tile& t) {
    const double rows = t.rows;
    const double keys = t.keys;
    const double warpgroups = t.warpgroups();
    const std::string flop = std::string("flop.wgmma.") + name_of(w.dtype);
    // A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
    constexpr double slot = 2;
    Pieces p;
    p.scores[flop] = 2 * rows * keys * t.headdim;
    // Every warpgroup reads its rows of Q and the whole block of K.
    p.scores["byte.smem_mma"] = t.q_bytes() + warpgroups * t.k_bytes();
    p.scores["byte.l2"] = keys * static_cast<double>(w.headdim) * 2;
    p.values[flop] = 2 * rows * keys * t.headdim_v;
    p.values["byte.smem_mma"] = warpgroups * t.v_bytes();
    p.values["byte.l2"] = keys * static_cast<double>(w.headdim_v) * 2;
    // An item's first block: maximum, multiply-add, sum, half a conversion a score.
    p.first_softmax["op.ex2"] = rows * keys;
    p.first_softmax["flop.fma.fp32"] = slot * rows * keys * 3.5;
    // All others do without the maximum.
    p.softmax["op.ex2"] = rows * keys;
    p.softmax["flop.fma.fp32"] = slot * rows * keys * 2.5;
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim) * 2;
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * t.headdim_v * 1.5;
    return p;
}

// Clocks from one block of a matrix warpgroup to its next, with the others of its CTA in the way:
// they share the tensor cores and the exponential units, and whoever comes second waits. A closed
// network of `warpgroups` customers and two stations, solved by mean value analysis (Reiser and
// Lavenberg, 1980).
double shared_clocks(double tensor, double exponentials, double alone, int warpgroups) {
    double tensor_queue = 0;
    double exponential_queue = 0;
    double cycle = 0;
    for (int n = 1; n <= warpgroups; ++n) {
        const double at_tensor = tensor * (1 + tensor_queue);
        const double at_exponentials = exponentials * (1 + exponential_queue);
        cycle = alone + at_tensor + at_exponentials;
        tensor_queue = n * at_tensor / cycle;
        exponential_queue = n * at_exponentials / cycle;
    }
    return cycle;
}

// Products: half a clock a column and step of 16 (wgmma of 64 rows at 1024 multiply-adds a clock).
// Exponentials: a warp's go at eight clocks an instruction. What a warp does alone is read from the
// compiled loops: the stall counts in the instructions, exponentials left out, sum up to half a
// clock a key (packing), 23 a product of 16 columns started, and 90; what has no fixed latency is a
// turn, three barriers of copies and two exchanges within the warp, some 20 each. A first block has
// maxima, which wait for each other, and four exchanges more.
double clocks_of_block(const Tile& t, bool first) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 16.0;
    const double steps_pv = keys / 16;
    const double tensor = steps_qk * keys / 2 + steps_pv * t.headdim_v / 2;
    const double exponentials = 4 * keys;
    const double maxima = first ? keys + 4 * 20 : 0;
    const double alone = 0.5 * keys + 23 * (steps_qk + steps_pv) + 90 + 6 * 20 + maxima;
    return shared_clocks(tensor, exponentials, alone, t.warpgroups());
}

// Clocks of a warp for all that an item's end and the next one's begin take beside products and
// softmax, read from the compiled code in the same way: where the item stands, and its output.
double clocks_of_item(const Tile& t) {
    return 780 + 3 * t.headdim_v;
}

std::vector<Step> steps_of(const Share& share, const Pieces& p, const Tile& tile) {
    const double any = share.most_worked > 0 ? 1 : 0;
    const double firsts = std::max(0.0, share.its_items - any);
    return {{"start", any, p.start, "latency.l2"},
            {"first scores", any, p.scores, ""},
            {"first softmax", any, p.first_softmax, ""},
            {"item's first block", firsts, p.scores + p.first_softmax + p.values, "",
             clocks_of_block(tile, true)},
            {"block", std::max(0.0, share.most_worked - any - firsts),
             p.scores + p.softmax + p.values, "", clocks_of_block(tile, false)},
            {"last values", any, p.values, ""},
            {"finish", share.its_items, p.finish, "", clocks_of_item(tile)}};
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

// Blocks that the item's warpgroups work on, of all that it has, in the mean: their own rows end
// earlier, or are not there.
double worked_of(const Band& band, std::int32_t row, const Tile& tile) {
    const Blocks blocks = blocks_of(band, row, tile);
    double worked = 0;
    for (std::int32_t own = row; own < smaller(row + tile.rows, band.length_q); own += 64) {
        worked += larger(0, band.blocks(own, 64, tile.keys).last - blocks.first);
    }
    return worked / tile.warpgroups();
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
        return row < band.length_q ? worked_of(band, row, tile) : 0.0;
    };
    const std::vector<Load> loads = plan.handed_out ? handed_out(plan, items, blocks_of_item)
                                                    : fixed_shares(plan, items, blocks_of_item);
    const Load most = *std::max_element(loads.begin(), loads.end());
    share.most_worked = most.worked;
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
    const double row_bytes = static_cast<double>(w.headdim + w.headdim_v) * 2;
    c.reread.push_back(
        {passes - w.bytes_kv(), heads_kv_at_once * static_cast<double>(w.seqlen_k) * row_bytes});
    c.reread.push_back(
        {std::max(0.0, bytes - passes),
         static_cast<double>(tile.stages * (tile.k_bytes() + tile.v_bytes())) * plan.ctas});
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(shape_of(w), tile, device);
    const Share share = share_of(w, plan, tile);
    const Pieces p = pieces_of(w, tile);
    const double kv_row_bytes = static_cast<double>(w.headdim + w.headdim_v) * 2;
    const double q_row_bytes = static_cast<double>(w.headdim) * 2;
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);

    Counts c;
    c.launch = "main";
    c.work = (p.scores + p.softmax + p.values) * share.worked + p.finish * share.items;
    c.work["byte.l2"] =
        share.keys * kv_row_bytes + share.rows * q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;
    add_rereads(c, w, plan, share.keys * kv_row_bytes, tile);

    c.ctas = std::max(1, plan.ctas);
    c.threads = tile.threads();
    c.registers = register_split(tile).entry;
    c.smem_bytes = shared_bytes(tile);
    c.bytes_in_flight = tile.stages * static_cast<double>(tile.k_bytes() + tile.v_bytes());
    const double mean = share.worked / static_cast<double>(c.ctas);
    c.imbalance = mean > 0 ? std::max(1.0, share.most_worked / mean) : 1;
    c.balanced_order = true;
    c.steps = steps_of(share, p, tile);
    const std::string flop = std::string("flop.wgmma.") + name_of(w.dtype);
    // Products run beside everything; a softmax's exponentials stand between its other operations.
    for (const char* id : {"op.ex2", "flop.fma.fp32"}) {
        c.overlap.push_back(
            {flop, id, "byte.smem_mma", "byte.l2", "byte.dram_read", "byte.dram_write"});
    }
    return {c};
}

}  // namespace raceline::kernels::prefill_sm90

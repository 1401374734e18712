// SPDX-License-Identifier: Apache-2.0
// prefill_mma's work as its code does it: whole blocks, masked parts, padding of rows, keys and
// head dims included; nothing timed. A base that follows its row's maximum (softmax.cuh) is left
// out: how often that happens is the data's business, with random data once a row.
#include "kernels/prefill_mma/counts.hpp"

#include <algorithm>
#include <string>

#include "kernels/prefill_mma/registers.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

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

// A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
constexpr double slot = 2;
constexpr double lanes = 32;

// What one CTA does for one block, in the order of its code, and at its ends.
struct Pieces {
    Work copies, scores, maximum, first_exponentials, values, start, finish;
};

// Exponentials of `keys` keys, their sums and their conversion; on a softcap a tanh before: a
// polynomial, and an exponential and a reciprocal, which takes the same pipe (gpu/tile/tanh.cuh).
Work exponentials(double rows, double keys, bool softcap) {
    Work work;
    work["op.ex2"] = rows * keys;
    work["flop.fma.fp32"] = slot * rows * keys * 2;
    work["op.issue"] = rows * keys * 3.5;
    if (softcap) {
        work["op.ex2"] += 2 * rows * keys;
        work["flop.fma.fp32"] += slot * rows * keys * 12;
        work["op.issue"] += rows * keys * 15;
    }
    return work;
}

// Fragments that the warps read for 16-bit operands of `bytes`, and the instructions: ldmatrix
// brings a warp 512 bytes.
void add_fragments(Work& work, double bytes) {
    work["byte.smem_lsu"] += bytes;
    work["op.issue"] += lanes * bytes / 512;
}

void add_products(Work& work, const std::string& flop, double rows, double keys, double depth) {
    constexpr double flops_of_one = 2.0 * 16 * 8 * 16;
    work[flop] += 2 * rows * keys * depth;
    work["op.issue"] += lanes * 2 * rows * keys * depth / flops_of_one;
}

// A copy writes shared memory as it lands and takes two instructions and a half of its thread:
// itself, its address and its limit.
Work copied(double bytes) {
    return {{"byte.smem_lsu", bytes}, {"op.issue", bytes / 16 * 2.5}};
}

Pieces pieces_of(const Workload& w, const Tile& t) {
    const double rows = t.rows;
    const double keys = t.keys;
    const double d = static_cast<double>(w.headdim) * 2;
    const double dv = static_cast<double>(w.headdim_v) * 2;
    const std::string flop = std::string("flop.mma.") + name_of(w.dtype);
    Pieces p;
    p.copies = copied(t.k_bytes() + t.v_bytes());
    p.copies["byte.l2"] = keys * (d + dv);
    add_products(p.scores, flop, rows, keys, t.headdim);
    // Warps that share rows each read those of Q, and their part of the keys and of V's columns.
    const int readers = t.warps / t.sharers;
    add_fragments(p.scores,
                  readers * t.k_bytes() + (t.q_registers != 0 ? 0 : t.sharers * t.q_bytes()));
    p.maximum["op.issue"] = rows * keys;
    // The first product with V needs the first 16 exponentials; the others run beside products.
    const double first_keys = 16.0 * t.sharers;
    p.first_exponentials = exponentials(rows, first_keys, w.softcap > 0);
    p.values = exponentials(rows, keys - first_keys, w.softcap > 0);
    add_products(p.values, flop, rows, keys, t.headdim_v);
    add_fragments(p.values, readers * t.v_bytes());
    if (t.sharers == 2) {
        add_fragments(p.values, 2 * rows * keys * 2);  // probabilities, given and taken
    }
    p.start = copied(t.q_bytes() + t.k_bytes());
    p.start["byte.l2"] = rows * d;
    p.finish["byte.l2"] = rows * dv;
    p.finish["flop.fma.fp32"] = slot * rows * t.headdim_v;
    p.finish["op.issue"] = rows * t.headdim_v * 4;
    return p;
}

// Clocks of a warp alone from its last product with K to its first exponential, and what the
// products wait for before: the fragments of K and of V (ldmatrix, 29: arXiv 2402.13499, H100), the
// last product and the vote on the maxima (33 and 12, assumed), and the maxima themselves, which
// the ALU takes two clocks each for (CUDA C++ Programming Guide, throughput of compare and
// maximum).
double clocks_between_products(const Tile& t) {
    const double scores_of_lane = t.row_groups() * t.warp_keys() / 2.0;
    return 29 + 29 + 33 + 12 + 2 * scores_of_lane;
}

// Before the first copy: a CTA works out its item with four integer divisions, each a reciprocal
// between two conversions (110 clocks by the stall counts of its code and 3 × 18, assumed), behind
// one another, then passes it on through shared memory.
constexpr double setup_clocks = 4 * 110 + 29;

// Four warps, one a partition of the SM, are alone there in what they wait for; with eight, one
// warp's products run in the other's waits.
std::vector<Step> steps_of(double blocks, const Pieces& p, const Tile& t) {
    if (t.warps > 4) {
        std::vector<Step> steps{
            {"setup", 1, {}, ""},
            {"start", 1, p.start, "latency.dram"},
            {"scores", blocks, p.copies + p.scores + p.maximum + p.first_exponentials, ""},
            {"values", blocks, p.values, ""},
            {"finish", 1, p.finish, ""}};
        steps[0].clocks = setup_clocks;
        return steps;
    }
    std::vector<Step> steps{{"setup", 1, {}, ""},
                            {"start", 1, p.start, "latency.dram"},
                            {"scores", blocks, p.copies + p.scores, ""},
                            {"maximum", blocks, p.maximum, ""},
                            {"first exponentials", blocks, p.first_exponentials, ""},
                            {"values", blocks, p.values, ""},
                            {"finish", 1, p.finish, ""}};
    steps[0].clocks = setup_clocks;
    steps[3].clocks = clocks_between_products(t);
    return steps;
}

void add_sequence(Share& share, const Band& band, const Tile& tile, double heads) {
    for (std::int32_t row = 0; row < band.length_q; row += tile.rows) {
        const Blocks blocks = band.blocks(row, tile.rows, tile.keys);
        share.items += heads;
        share.most_blocks = std::max<double>(share.most_blocks, blocks.count());
        if (blocks.count() > 0) {
            share.blocks += heads * blocks.count();
            share.keys += heads * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += heads * smaller(tile.rows, band.length_q - row);
        }
    }
}

// Keys and values are read once an item. CTAs that work on one head walk its keys at the same time
// and share each pass; passes of different times share what the L2 keeps of the heads in work.
void add_rereads(Counts& c, const Workload& w, const Plan& plan, double bytes, const Tile& tile,
                 double places) {
    const double heads_kv = std::max(
        1.0, static_cast<double>(plan.order.heads_per_group) / static_cast<double>(w.group()));
    const double sharing = std::max(1.0, places / heads_kv);
    const double passes = std::max(w.bytes_kv(), bytes / sharing);
    const double row_bytes = static_cast<double>(w.headdim + w.headdim_v) * 2;
    c.reread.push_back(
        {passes - w.bytes_kv(), heads_kv * static_cast<double>(w.seqlen_k) * row_bytes});
    c.reread.push_back(
        {std::max(0.0, bytes - passes),
         static_cast<double>(tile.stages * (tile.k_bytes() + tile.v_bytes())) * places});
}

}  // namespace

Share share_of(const Workload& w, const Plan& plan, const Tile& tile) {
    Share share;
    if (!w.ragged()) {
        add_sequence(share, plan.band, tile, plan.order.heads);
        return share;
    }
    for (std::int64_t b = 0; b < w.batch; ++b) {
        Band band = plan.band;
        band.length_q = static_cast<std::int32_t>(w.length_q(b));
        band.length_k = static_cast<std::int32_t>(w.length_k(b));
        add_sequence(share, band, tile, static_cast<double>(w.heads_q));
    }
    return share;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(shape_of(w), tile, device);
    const Share share = share_of(w, plan, tile);
    const Pieces p = pieces_of(w, tile);
    const double kv_row_bytes = static_cast<double>(w.headdim + w.headdim_v) * 2;
    const double q_row_bytes = static_cast<double>(w.headdim) * 2;
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);

    Counts c;
    c.launch = "main";
    c.work = (p.copies + p.scores + p.maximum + p.first_exponentials + p.values) * share.blocks +
             (p.start + p.finish) * share.items;
    c.work["byte.l2"] =
        share.keys * kv_row_bytes + share.rows * q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;

    c.ctas = std::max(1, plan.order.items());
    c.threads = tile.threads();
    c.registers = declared_registers(tile);
    c.smem_bytes = all_shared_bytes(tile);
    add_rereads(c, w, plan, share.keys * kv_row_bytes, tile,
                static_cast<double>(device.units) * tile.residents);
    c.bytes_in_flight = tile.stages == 1 ? tile.k_bytes() : tile.k_bytes() + tile.v_bytes();
    const double mean = share.blocks / static_cast<double>(c.ctas);
    c.imbalance = mean > 0 ? std::max(1.0, share.most_blocks / mean) : 1;
    c.balanced_order = true;
    c.steps = steps_of(share.most_blocks, p, tile);
    c.overlap.push_back({std::string("flop.mma.") + name_of(w.dtype), "op.ex2", "flop.fma.fp32",
                         "op.issue", "byte.smem_lsu", "byte.l2", "byte.dram_read",
                         "byte.dram_write"});
    return {c};
}

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
// prefill_mma's work as its code does it: whole blocks, masked parts, padding of rows, keys and
// head dims included; nothing timed. A base that follows its row's maximum (softmax.cuh) is left
// out: how often that happens is the data's business, with random data once a row.
#include "kernels/prefill_mma/counts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "model/constant.hpp"
#include "model/occupancy.hpp"
#include "schedule/rereads.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

// A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
constexpr double slot = 2;
constexpr double lanes = 32;

// What one CTA does for one block, in the order of its code, and at its ends.
struct BlockWork {
    Work copies, scores, maximum, first_exponentials, values, start, finish;
};

// Exponentials of `keys` keys, their sums and their conversion; on a softcap a tanh before: a
// polynomial, and an exponential and a reciprocal, which takes the same pipe (gpu/tile/tanh.cuh).
Work exponentials(double rows, double keys, bool softcap) {
    Work work;
    work["op.ex2"] = rows * keys;
    work["flop.fma.fp32"] = slot * rows * keys * 2;
    work["op.issue"] = rows * keys * counted(3.5, "exponentials, sums, conversion");
    if (softcap) {
        work["op.ex2"] += 2 * rows * keys;
        work["flop.fma.fp32"] += slot * rows * keys * counted(12, "tanh.cuh");
        work["op.issue"] += rows * keys * counted(15, "tanh.cuh");
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
    return {{"byte.smem_lsu", bytes},
            {"op.issue", bytes / 16 * counted(2.5, "a copy of 16 bytes")}};
}

BlockWork block_work_of(const Workload& w, const Tile& t) {
    const double rows = t.rows;
    const double keys = t.keys;
    const double d = static_cast<double>(w.headdim) * 2;
    const double dv = static_cast<double>(w.headdim_v) * 2;
    const std::string flop = std::string("flop.mma.") + name_of(w.dtype);
    BlockWork p;
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

// A step's clocks for a CTA alone on its SM and for as many as it holds: their warps are groups of
// four, one a sub-partition. All but this one's are at their blocks.
Step with_clocks(Step step, const GroupClocks& work, const GroupClocks& block, const Tile& t,
                 int residents) {
    step.clocks = clocks_among(work, block, t.warps / 4);
    for (int n = 2; n <= residents; ++n) {
        step.clocks_together.push_back(clocks_among(work, block, n * t.warps / 4));
    }
    return step;
}

// Of the CTA with the most blocks.
std::vector<Step> steps_of(const Share& share, const BlockWork& p, const Tile& t,
                           const GroupClocks& block, int residents) {
    const Work in_block = p.copies + p.scores + p.maximum + p.first_exponentials + p.values;
    const auto step = [&](Step of, const GroupClocks& work) {
        return with_clocks(std::move(of), work, block, t, residents);
    };
    return {step({"start", 1, p.start, "latency.dram"}, start_clocks(t)),
            step({"blocks", share.most_blocks, in_block, ""}, block),
            step({"masks", share.most_masked, {}, ""}, mask_clocks(t)),
            step({"finish", 1, p.finish, ""}, finish_clocks(t))};
}

// What the CTA with the most blocks takes over the mean one, which has as many at its ends.
double imbalance_of(const std::vector<Step>& steps, double most_blocks, double mean_blocks) {
    double all = 0, block = 0;
    for (const Step& step : steps) {
        const double clocks =
            step.clocks_together.empty() ? step.clocks : step.clocks_together.back();
        all += step.repeat * clocks;
        block = step.name == "blocks" ? clocks : block;
    }
    return all / (all - (most_blocks - mean_blocks) * block);
}

// Flops of mma.sync that an SM does in a clock.
double flops_per_clock(const Device& device, const std::string& id) {
    const double clock = device.rates.at(id).clock_hz;
    return device.rate(id) / (clock > 0 ? clock : device.clock_hz) / std::max(1, device.units);
}

void add_sequence(Share& share, const Band& band, const Tile& tile, double heads) {
    for (std::int32_t row = 0; row < band.length_q; row += tile.rows) {
        const Blocks blocks = band.blocks(row, tile.rows, tile.keys);
        share.work_tiles += heads;
        if (blocks.count() > share.most_blocks) {
            share.most_blocks = blocks.count();
            share.most_masked = band.masked(row, tile.rows, tile.keys);
        }
        if (blocks.count() > 0) {
            share.blocks += heads * blocks.count();
            share.keys += heads * (smaller(blocks.last * tile.keys, band.length_k) -
                                   blocks.first * tile.keys);
            share.rows += heads * smaller(tile.rows, band.length_q - row);
        }
    }
}

}  // namespace

Share share_of(const Workload& w, const Plan& plan, const Tile& tile) {
    Share share;
    if (!w.ragged()) {
        add_sequence(share, plan.band, tile, plan.order.heads);
        return share;
    }
    for (std::int64_t b = 0; b < w.batch; ++b) {
        add_sequence(share, band_of(w, plan.band, b), tile, static_cast<double>(w.heads_q));
    }
    return share;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(problem_of(w), tile, device);
    const Share share = share_of(w, plan, tile);
    const BlockWork p = block_work_of(w, tile);
    const double kv_row_bytes = static_cast<double>(w.headdim + w.headdim_v) * 2;
    const double q_row_bytes = static_cast<double>(w.headdim) * 2;
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);

    Counts c;
    c.launch = "main";
    c.work = (p.copies + p.scores + p.maximum + p.first_exponentials + p.values) * share.blocks +
             (p.start + p.finish) * share.work_tiles;
    c.work["byte.l2"] =
        share.keys * kv_row_bytes + share.rows * q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;

    c.ctas = std::max(1, plan.order.work_tiles());
    c.threads = tile.threads();
    c.warps_counted = true;
    c.registers = declared_registers(tile);
    c.smem_bytes = all_shared_bytes(tile);
    schedule::add_rereads(c, w, schedule::heads_kv_of(plan.order, w),
                          static_cast<double>(device.units) * tile.residents,
                          {w.bytes_kv(), share.keys * kv_row_bytes, kv_row_bytes,
                           static_cast<double>(tile.stages * (tile.k_bytes() + tile.v_bytes()))});
    c.bytes_in_flight = tile.stages == 1 ? tile.k_bytes() : tile.k_bytes() + tile.v_bytes();
    const GroupClocks block = block_clocks(
        tile, flops_per_clock(device, std::string("flop.mma.") + name_of(w.dtype)), w.softcap > 0);
    c.steps = steps_of(share, p, tile, block, std::max(1, occupancy(device, c)));
    const double mean = share.blocks / static_cast<double>(c.ctas);
    c.imbalance = mean > 0 ? imbalance_of(c.steps, share.most_blocks, mean) : 1;
    c.balanced_order = true;
    c.overlap.push_back({std::string("flop.mma.") + name_of(w.dtype), "op.ex2", "flop.fma.fp32",
                         "op.issue", "byte.smem_lsu", "byte.l2", "byte.dram_read",
                         "byte.dram_write"});
    return {c};
}

}  // namespace raceline::kernels::prefill_mma

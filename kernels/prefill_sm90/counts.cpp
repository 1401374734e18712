// SPDX-License-Identifier: Apache-2.0
// prefill_sm90's work as its code does it: whole blocks, masked parts, padding of rows, keys and
// head dims included; nothing timed but what stands before the first scores.
#include "kernels/prefill_sm90/counts.hpp"

#include <algorithm>
#include <string>

#include "gpu/tile/steps.hpp"
#include "kernels/prefill_sm90/clocks.hpp"
#include "kernels/prefill_sm90/share.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

using gpu::Pieces;

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
    p.first_softmax["flop.fma.fp32"] =
        slot * rows * keys * counted(3.5, "softmax of a first block");
    // All others do without the maximum.
    p.softmax["op.ex2"] = rows * keys;
    p.softmax["flop.fma.fp32"] = slot * rows * keys * counted(2.5, "softmax");
    // A softcap's tanh: a polynomial of eight operations, beyond its range both that and an
    // exponential and a reciprocal, which takes the same pipe, with four more.
    if (w.softcap > 0) {
        const bool near = w.softcap >= softcap_near;
        for (Work* softmax : {&p.first_softmax, &p.softmax}) {
            (*softmax)["op.ex2"] += (near ? 0 : 2) * rows * keys;
            (*softmax)["flop.fma.fp32"] +=
                slot * rows * keys * (near ? 8 : counted(12, "tanh.cuh"));
        }
    }
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim) * 2;
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * t.headdim_v * counted(1.5, "epilogue");
    return p;
}

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
    c.imbalance = share.imbalance;
    c.balanced_order = true;
    const int warpgroups = tile.warpgroups();
    const bool equal_shares = w.mask == Mask::full && !w.window && !w.ragged();
    c.steps = gpu::steps_of(share, p, warpgroups, w.ragged(), [&](int working) {
        return gpu::StepClocks{
            clocks_of_first_softmax(tile, working, w.softcap),
            clocks_of_block(tile, true, working, w.softcap) + clocks_of_late_rows(tile),
            clocks_of_block(tile, false, warpgroups, w.softcap), clocks_of_mask(tile, working),
            clocks_of_item(tile, working) + clocks_in_step(tile, working, equal_shares)};
    });
    const std::string flop = std::string("flop.wgmma.") + name_of(w.dtype);
    // Products run beside everything; a softmax's exponentials stand between its other operations.
    for (const char* id : {"op.ex2", "flop.fma.fp32"}) {
        c.overlap.push_back(
            {flop, id, "byte.smem_mma", "byte.l2", "byte.dram_read", "byte.dram_write"});
    }
    std::vector<Counts> launches;
    if (plan.handed_out) {
        launches.push_back(gpu::clearing());
    }
    launches.push_back(std::move(c));
    return launches;
}

}  // namespace raceline::kernels::prefill_sm90

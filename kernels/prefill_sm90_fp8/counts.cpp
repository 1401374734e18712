// SPDX-License-Identifier: Apache-2.0
// prefill_sm90_fp8's work as its code does it: whole blocks, masked parts, padding of rows, keys
// and head dims included; nothing timed.
#include "kernels/prefill_sm90_fp8/counts.hpp"

#include <algorithm>

#include "gpu/tile/steps.hpp"
#include "kernels/prefill_sm90_fp8/clocks.hpp"
#include "kernels/prefill_sm90_fp8/prepare_counts.hpp"
#include "kernels/prefill_sm90_fp8/share.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

using gpu::Pieces;

// Bytes that a value is fetched as: images hold columns that V does not have, too. The zeros behind
// a sequence's end are left out, as they are of K, which the copy engine makes up.
double value_row_bytes(const Workload& w, const Tile& t) {
    return static_cast<double>(t.prepared != 0 ? t.headdim : w.headdim_v);
}
// Bytes of K and V that the main launch reads at least once.
double bytes_once(const Workload& w, const Tile& t) {
    return t.prepared == 0 ? w.bytes_kv()
                           : static_cast<double>(w.tokens_k() * w.heads_kv * w.headdim) +
                                 images_read(w, t) * t.block_bytes();
}

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
    p.values["byte.l2"] = keys * value_row_bytes(w, t);
    if (t.prepared == 0) {
        // V is read once and written once more on its way into the order that the products want.
        p.values["byte.smem_lsu"] = 2 * t.block_bytes();
    }
    // A score: multiply-add, sum, half a conversion. An output: what promotion adds.
    p.softmax["op.ex2"] = rows * keys;
    p.softmax["flop.fma.fp32"] =
        slot * rows * (keys * counted(2.5, "softmax") + (t.promote != 0 ? t.headdim : 0));
    // An item's first block looks for maxima.
    p.first_softmax = p.softmax;
    p.first_softmax["flop.fma.fp32"] += slot * rows * keys;
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim);
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * t.headdim * counted(1.5, "epilogue");
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
    const double once = bytes_once(w, tile);
    const double passes = std::max(once, bytes / sharing);
    const double row_bytes = static_cast<double>(w.headdim) + value_row_bytes(w, tile);
    c.reread.push_back(
        {passes - once, heads_kv_at_once * static_cast<double>(w.seqlen_k) * row_bytes});
    c.reread.push_back(
        {std::max(0.0, bytes - passes), 2.0 * tile.stages * tile.block_bytes() * plan.ctas});
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = make_plan(shape_of(w), tile, device);
    const Share share = share_of(w, plan, tile);
    const Pieces p = pieces_of(w, tile);
    const double kv_row_bytes = static_cast<double>(w.headdim) + value_row_bytes(w, tile);
    const auto q_row_bytes = static_cast<double>(w.headdim);
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);

    Counts c;
    c.launch = "main";
    c.work = (p.scores + p.softmax + p.values) * share.worked + p.finish * share.items;
    c.work["byte.l2"] =
        share.keys * kv_row_bytes + share.rows * q_row_bytes + w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + bytes_once(w, tile);
    if (tile.prepared != 0) {
        // Written a moment ago: from the L2, if nothing has driven them out.
        const double images = images_read(w, tile) * tile.block_bytes();
        c.work["byte.dram_read"] -= images;
        c.reread.push_back({images, images + values_bytes(w)});
    }
    c.work["byte.dram_write"] = w.bytes_out() + lse_bytes;
    add_rereads(c, w, plan, share.keys * kv_row_bytes, tile);

    c.ctas = std::max(1, plan.ctas);
    c.threads = tile.threads();
    c.registers = register_split(tile).entry;
    c.smem_bytes = shared_bytes(tile);
    c.bytes_in_flight = 2.0 * tile.stages * tile.block_bytes();
    c.imbalance = share.imbalance;
    c.balanced_order = true;
    const int warpgroups = tile.warpgroups();
    c.steps = gpu::steps_of(share, p, warpgroups, w.ragged(), [&](int working) {
        return gpu::StepClocks{clocks_of_first_softmax(tile, working),
                               clocks_of_block(tile, true, working),
                               clocks_of_block(tile, false, warpgroups),
                               clocks_of_mask(tile, working), clocks_of_item(tile, working)};
    });
    // Products and the transposition of V, other warps' work, run beside everything; a softmax's
    // exponentials stand between its other operations.
    for (const char* id : {"op.ex2", "flop.fma.fp32"}) {
        c.overlap.push_back({"flop.wgmma.e4m3", id, "byte.smem_mma", "byte.smem_lsu", "byte.l2",
                             "byte.dram_read", "byte.dram_write"});
    }
    std::vector<Counts> launches;
    if (tile.prepared != 0 && w.seqlen_k > 0) {
        launches.push_back(preparation(w, tile));
    }
    if (plan.handed_out) {
        launches.push_back(gpu::clearing());
    }
    launches.push_back(std::move(c));
    return launches;
}

}  // namespace raceline::kernels::prefill_sm90_fp8

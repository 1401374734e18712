// SPDX-License-Identifier: Apache-2.0
// prefill_sm90_fp8's work as its code does it: whole blocks, masked parts, padding of rows, keys
// and head dims included. Constants that were fitted to times say so.
#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/share.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {
namespace {

// Clocks in which a transposing warp turns a subtile of 32 keys and 16 columns. They bind at head
// dim 256 alone, where the tiles of 64 and 96 keys take 172 to 179 a subtile of the busiest warp
// and the same blocks without transposition a sixth less.
constexpr Constant clocks_of_subtile =
    calibrated("prefill_sm90_fp8.transposed_piece", 172,
               "receipts/h200/2026-11-22-prefill_sm90_fp8-tiles-8b1b73d27634, head dim 256", 0,
               "term dropped: the transposition is beside the products");
// Beside what the code says, of a wgmma of 32 keys or columns, half of it at the issue slots. The
// tiles that alternate take those of the others.
constexpr std::string_view all_rows = "all rows of an H200 that were committed by 2026-11-27";
constexpr Constant unexplained =
    calibrated("prefill_sm90_fp8.product.unexplained", 36, all_rows, 0, "term dropped");
constexpr Constant unexplained_prepared =
    calibrated("prefill_sm90_fp8.product.unexplained_prepared", 28, all_rows, 0, "term dropped");
constexpr Constant issue = code("prefill_sm90_fp8.block.instructions", 119, of_loop);
constexpr Constant wait =
    assumed("prefill_sm90_fp8.block.wait", 12,
            "a turn, a barrier or a vote: as prefill_mma.vote, one that nobody is late for");
constexpr Constant copy_of_key = code("prefill_sm90_fp8.block.copy_of_key", 0.25,
                                      "probabilities copied into the order of the product");
constexpr Constant waits = code("prefill_sm90_fp8.block.waits", 6, "waits in the loop of blocks");
constexpr Constant waits_alternating =
    code("prefill_sm90_fp8.block.waits_alternating", 5,
         "waits in the alternating loop, but for chunks of values");
constexpr Constant maximum_of_key =
    code("prefill_sm90_fp8.block.maximum_of_key", 1.5, "maxima of a work tile's first block");
constexpr Constant exchanges = code("prefill_sm90_fp8.block.exchanges", 6,
                                    "exchanges between lanes for the maxima of a first block");
constexpr Constant work_tile_column =
    calibrated("prefill_sm90_fp8.work_tile.column", 15,
               "the sweep of all tiles on training-16k of d6da988 (receipts/index.jsonl)",
               31.0 / 16, "31 instructions for 16 columns, by the compiled code");

double transposition(const Tile& t) {
    if (t.prepared != 0) {
        return 0;
    }
    const int subtiles = t.keys / 32 * (t.headdim / 16);
    const int of_busiest_warp = (subtiles + transposers - 1) / transposers;
    return clocks_of_subtile * of_busiest_warp;
}

double unexplained_clocks(const Tile& t) {
    return t.prepared != 0 ? unexplained_prepared : unexplained;
}

schedule::BlockClocks block_clocks(const Tile& t, bool first) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 32.0;
    const double steps_pv = keys / 32;
    const double values = steps_pv * t.headdim / 2;
    const double tensor = steps_qk * keys / 2 + values;
    const double exponentials = keys / 2 * exponential_clocks;
    const double maxima = first ? maximum_of_key * keys + exchanges * wait : 0;
    const double half = unexplained_clocks(t) / 2 * (steps_qk + steps_pv);
    // Promotion is an addition an output, of which a thread has half a column's.
    const double additions = t.promote != 0 ? t.headdim / 2.0 : 0;
    const double issued = issue + half + additions;
    // Who alternates copies no probabilities, but waits for every chunk of the values, and no
    // values are multiplied under its exponentials.
    const double copies = t.alternates() ? 0 : copy_of_key * keys;
    const double waited = t.alternates() ? waits_alternating + t.value_chunks() : waits;
    const double alone = copies + chain_of_block + wait * waited + half + maxima;
    return {tensor, exponentials, issued, alone, t.alternates() ? 0 : values};
}

}  // namespace

double clocks_of_block(const Tile& t, bool first, int warpgroups) {
    return std::max(transposition(t), schedule::shared_clocks(block_clocks(t, first), warpgroups));
}

double clocks_of_first_softmax(const Tile& t, int warpgroups) {
    return clocks_without_products(block_clocks(t, true), warpgroups);
}

double clocks_between_tiles(const Tile& t, int warpgroups) {
    return schedule::between_tiles(work_tile_column * t.headdim, warpgroups);
}

double clocks_of_mask(const Tile& t, int warpgroups) {
    return schedule::between_tiles(mask_of_key * t.keys, warpgroups);
}

namespace {

using schedule::BlockWork;

// Images that hold a key: the launch that transposes V writes these, and the main one reads them.
double images_read(const Workload& w, const Tile& tile) {
    std::int64_t blocks = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        blocks += divide_up(w.length_k(b), tile.keys);
    }
    return static_cast<double>(blocks * w.heads_kv);
}

// Of V itself.
double values_bytes(const Workload& w) {
    return static_cast<double>(w.tokens_k() * w.heads_kv * w.headdim_v);
}

Counts preparation(const Workload& w, const Tile& tile) {
    const double block = tile.block_bytes();
    const double images = images_read(w, tile);
    const double values = values_bytes(w);
    Counts c;
    c.launch = "transpose";
    c.work["byte.dram_read"] = values;
    c.work["byte.dram_write"] = images * block;
    c.work["byte.l2"] = values + images * block;
    c.work["byte.smem_lsu"] = images * 2 * block;
    // Some of the places of a packed batch are nobody's; their CTAs end at once.
    c.ctas = std::max<std::int64_t>(1, image_places(w, tile.keys) * w.heads_kv);
    c.threads = preparing_threads;
    c.warps_counted = true;
    c.registers = preparing_registers;
    c.smem_bytes = preparing_shared_bytes(tile);
    c.bytes_in_flight = block;
    c.steps = {{"fetch", 1, {{"byte.l2", block}}, "latency.dram"},
               {"transpose", 1, {{"byte.smem_lsu", 2 * block}}, ""},
               {"store", 1, {{"byte.l2", block}}, "latency.l2"}};
    c.overlap = {{"byte.smem_lsu", "byte.l2", "byte.dram_read", "byte.dram_write"}};
    return c;
}

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

BlockWork block_work_of(const Workload& w, const Tile& t) {
    BlockWork p = hopper::block_work_of(w, t, "flop.wgmma.e4m3", 1);
    p.values["byte.l2"] = t.keys * value_row_bytes(w, t);
    if (t.prepared == 0) {
        // V is read once and written once more on its way into the order that the products want.
        p.values["byte.smem_lsu"] = 2 * t.block_bytes();
    }
    // An output: what promotion adds, in slots of the FMA pipe, two flops each.
    const double promoted = t.promote != 0 ? 2.0 * t.rows * t.headdim : 0;
    p.softmax["flop.fma.fp32"] += promoted;
    p.first_softmax["flop.fma.fp32"] += promoted;
    return p;
}

}  // namespace

schedule::Share share_of(const Workload& w, const schedule::Plan& plan, const Tile& tile) {
    return hopper::share_of(
        w, plan, tile, [&](int warpgroups) { return clocks_of_block(tile, false, warpgroups); });
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const schedule::Plan plan = make_plan(problem_of(w), tile, device);
    const schedule::Share share = share_of(w, plan, tile);
    const BlockWork p = block_work_of(w, tile);
    const auto q_row_bytes = static_cast<double>(w.headdim);
    // Products and the transposition of V, other warps' work, run beside everything.
    Counts c = main_counts({w, plan, share, tile.stages, 2 * tile.block_bytes(), tile.threads(),
                            register_split(tile).entry, shared_bytes(tile), q_row_bytes,
                            q_row_bytes + value_row_bytes(w, tile), bytes_once(w, tile)},
                           p,
                           {"flop.wgmma.e4m3", "byte.smem_mma", "byte.smem_lsu", "byte.l2",
                            "byte.dram_read", "byte.dram_write"});
    c.steps = schedule::steps_of(share, p, tile.warpgroups(), w.ragged(), [&](int working) {
        return schedule::StepClocks{
            clocks_of_first_softmax(tile, working), clocks_of_block(tile, true, working),
            clocks_of_block(tile, false, tile.warpgroups()), clocks_of_mask(tile, working),
            clocks_between_tiles(tile, working)};
    });
    std::vector<Counts> before;
    if (tile.prepared != 0) {
        // Written a moment ago: from the L2, if nothing has driven them out.
        const double images = images_read(w, tile) * tile.block_bytes();
        c.work["byte.dram_read"] -= images;
        c.reread.insert(c.reread.begin(), {images, images + values_bytes(w)});
        if (w.seqlen_k > 0) {
            before.push_back(preparation(w, tile));
        }
    }
    return launches_of(std::move(before), plan, std::move(c));
}

}  // namespace raceline::kernels::prefill_sm90_fp8

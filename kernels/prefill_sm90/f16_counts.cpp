// SPDX-License-Identifier: Apache-2.0
// prefill_sm90's work as its code does it: whole blocks, masked parts, padding of rows, keys and
// head dims included. Constants that were fitted to times say so.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/share.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

// Of a block: what a warp does alone, and what of it takes issue slots, by the loop of blocks. Five
// of the six were worked out by hand from the loops of seven tiles, with the kernel's times at
// hand; what stands in for them is what the machine code says by itself (PrefillSm90Report holds it
// to that). By the machine code's numbers of instructions and a shorter wait the committed rows are
// met as well, but at head dim 64 the slower one of two tiles is chosen, by up to 15 %
// (receipts/h200/logs/2026-11-27-prefill_sm90-choice-e218e9e7df2e.txt).
constexpr std::string_view by_hand = "the loops of seven tiles, with times of prefill_sm90 at hand";
constexpr Constant chain_of_key =
    calibrated("prefill_sm90.block.chain_of_key", 0.15, by_hand, 1.8, of_loop);
constexpr Constant chain_of_product =
    calibrated("prefill_sm90.block.chain_of_product", 14.5, by_hand, 21.5, of_loop);
constexpr Constant issue = calibrated("prefill_sm90.block.instructions", 60, by_hand, 119, of_loop);
constexpr Constant issue_of_key =
    calibrated("prefill_sm90.block.instructions_of_key", 0.25, by_hand, 1.1, of_loop);
constexpr Constant issue_of_product =
    calibrated("prefill_sm90.block.instructions_of_product", 4.5, by_hand, 9.6, of_loop);
constexpr Constant wait = calibrated(
    "prefill_sm90.block.wait", 25,
    "a turn, a barrier, a reduction into a uniform register or a vote: a guess, made with "
    "the kernel's times at hand",
    12, "as prefill_mma.vote: a barrier that nobody is late for");
constexpr Constant shuffle =
    assumed("prefill_sm90.block.exchange", 20, "an exchange between lanes");

// Between work tiles, by clock() at the steps of d64, d128 and d256 in prefill_sm90 itself.
constexpr Constant work_tile = calibrated("prefill_sm90.work_tile", 900,
                                          "clock() at the steps of three tiles", 0, "term dropped");
constexpr Constant work_tile_column =
    code("prefill_sm90.work_tile.column", 31.0 / 16,
         "31 instructions for 16 columns, outputs from registers");
constexpr Constant work_tile_column_boxes =
    code("prefill_sm90.work_tile.column_by_tma", 14.0 / 16,
         "14 instructions for 16 columns, outputs through shared memory");

// Of a warp, for a softcap: instructions, and clocks at the exponential units.
struct TanhClocks {
    double issued = 0, exponentials = 0;
};

// A warp has half an instruction a key for each of a score's.
TanhClocks tanh_clocks(double keys, double softcap) {
    if (softcap == 0) {
        return {};
    }
    return softcap >= softcap_near
               ? TanhClocks{keys / 2 * counted(9, "tanh of a score: a polynomial"), 0}
               : TanhClocks{keys / 2 * counted(14, "tanh of a score beyond its range"),
                            keys / 2 * 2 * exponential_clocks};
}

schedule::BlockClocks block_clocks(const Tile& t, bool first, double softcap) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 16.0;
    const double steps_pv = keys / 16;
    const BlockCode code = block_code(t);
    const double values = steps_pv * t.headdim_v / 2;
    const double tensor = steps_qk * keys / 2 + values;
    const TanhClocks tanh = tanh_clocks(keys, softcap);
    const double exponentials = keys / 2 * exponential_clocks + tanh.exponentials;
    const double maxima = first ? keys + 4 * shuffle : 0;
    const double alone = code.clocks + 8 * wait + maxima - code.instructions;
    return {tensor, exponentials, code.instructions + tanh.issued, alone, values};
}

}  // namespace

BlockCode block_code(const Tile& t) {
    const double products = (t.headdim + t.keys) / 16.0;
    return {chain_of_block + chain_of_key * t.keys + chain_of_product * products,
            issue + issue_of_key * t.keys + issue_of_product * products};
}

double clocks_of_block(const Tile& t, bool first, int warpgroups, double softcap) {
    return schedule::shared_clocks(block_clocks(t, first, softcap), warpgroups);
}

double clocks_of_first_softmax(const Tile& t, int warpgroups, double softcap) {
    return clocks_without_products(block_clocks(t, true, softcap), warpgroups);
}

double clocks_between_tiles(const Tile& t, int warpgroups) {
    const double alone =
        work_tile + (stores_boxes(t) ? work_tile_column_boxes : work_tile_column) * t.headdim_v;
    return schedule::between_tiles(alone, warpgroups);
}

double clocks_of_mask(const Tile& t, int warpgroups) {
    return schedule::between_tiles(mask_of_key * t.keys, warpgroups);
}

namespace {

using schedule::BlockWork;

std::string flop_of(const Workload& w) {
    return std::string("flop.wgmma.") + name_of(w.dtype);
}

BlockWork block_work_of(const Workload& w, const Tile& t) {
    BlockWork p = hopper::block_work_of(w, t, flop_of(w), 2);
    p.values["byte.l2"] = t.keys * static_cast<double>(w.headdim_v) * 2;
    // A softcap's tanh: a polynomial of eight operations, beyond its range both that and an
    // exponential and a reciprocal, which takes the same pipe, with four more.
    if (w.softcap > 0) {
        const bool near = w.softcap >= softcap_near;
        const double scores = static_cast<double>(t.rows) * t.keys;
        constexpr double slot = 2;  // of the FMA pipe, in flops
        for (Work* softmax : {&p.first_softmax, &p.softmax}) {
            (*softmax)["op.ex2"] += (near ? 0 : 2) * scores;
            (*softmax)["flop.fma.fp32"] += slot * scores * (near ? 8 : counted(12, "tanh.cuh"));
        }
    }
    return p;
}

}  // namespace

schedule::Share share_of(const Workload& w, const schedule::Plan& plan, const Tile& tile) {
    return hopper::share_of(w, plan, tile, [&](int warpgroups) {
        return clocks_of_block(tile, false, warpgroups, w.softcap);
    });
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const schedule::Plan plan = make_plan(problem_of(w), tile, device);
    const schedule::Share share = share_of(w, plan, tile);
    const BlockWork p = block_work_of(w, tile);
    Counts c = main_counts(
        {w, plan, share, tile.stages, tile.k_bytes() + tile.v_bytes(), tile.threads(),
         register_split(tile).entry, shared_bytes(tile), static_cast<double>(w.headdim) * 2,
         static_cast<double>(w.headdim + w.headdim_v) * 2, w.bytes_kv()},
        p, {flop_of(w), "byte.smem_mma", "byte.l2", "byte.dram_read", "byte.dram_write"});
    const int warpgroups = tile.warpgroups();
    c.steps = schedule::steps_of(share, p, warpgroups, w.ragged(), [&](int working) {
        return schedule::StepClocks{clocks_of_first_softmax(tile, working, w.softcap),
                                    clocks_of_block(tile, true, working, w.softcap),
                                    clocks_of_block(tile, false, warpgroups, w.softcap),
                                    clocks_of_mask(tile, working),
                                    clocks_between_tiles(tile, working)};
    });
    return launches_of({}, plan, std::move(c));
}

}  // namespace raceline::kernels::prefill_sm90

// SPDX-License-Identifier: Apache-2.0
// What the engine does, by type of elements, and what counts and records of both types have in
// common. Clocks are those of the steps of a matrix warpgroup.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "schedule/plan.hpp"
#include "schedule/queueing.hpp"
#include "schedule/rereads.hpp"
#include "schedule/share.hpp"
#include "schedule/steps.hpp"

namespace raceline::kernels::hopper {

/// How a call is cut into work tiles: for counts and launch alike. Lengths at most
/// schedule::longest_length, work tiles at most schedule::most_work_tiles.
template <class Tile>
schedule::Plan make_plan(const Problem& problem, const Tile& tile, const Device& device) {
    return schedule::make_plan(problem, tile.rows, Tile::eight_bits ? 1 : 2, device);
}

inline constexpr Constant exponential_clocks =
    manual("sm.exponential_clocks", 8,
           "16 results a clock and SM: CUDA C++ Programming Guide, throughput");

/// Clocks of a block's softmax alone: no products beside it.
inline double clocks_without_products(schedule::BlockClocks block, int warpgroups) {
    block.tensor = block.values = 0;
    return schedule::shared_clocks(block, warpgroups);
}

/// Work of a CTA for one block and at a work tile's ends, as far as it follows from lengths: what
/// both types do alike. `flop`: of wgmma, `bytes`: of an element of Q and K.
template <class Tile>
schedule::BlockWork block_work_of(const Workload& w, const Tile& t, const std::string& flop,
                                  double bytes) {
    const double rows = t.rows;
    const double keys = t.keys;
    const int bytes_of_value = t.v_bytes() / t.keys;
    const double columns_v = bytes_of_value / bytes;
    // A lane's slot of the FMA pipe is two flops to the model, whatever instruction takes it.
    constexpr double slot = 2;
    schedule::BlockWork p;
    p.scores[flop] = 2 * rows * keys * t.headdim;
    // Every warpgroup reads its rows of Q and the whole block of K.
    p.scores["byte.smem_mma"] = t.q_bytes() + t.warpgroups() * static_cast<double>(t.k_bytes());
    p.scores["byte.l2"] = keys * static_cast<double>(w.headdim) * bytes;
    p.values[flop] = 2 * rows * keys * columns_v;
    p.values["byte.smem_mma"] = t.warpgroups() * static_cast<double>(t.v_bytes());
    // A score: multiply-add, sum, half a conversion.
    p.softmax["op.ex2"] = rows * keys;
    p.softmax["flop.fma.fp32"] = slot * rows * keys * counted(2.5, "softmax");
    // A work tile's first block looks for maxima.
    p.first_softmax["op.ex2"] = rows * keys;
    p.first_softmax["flop.fma.fp32"] =
        slot * rows * keys * counted(3.5, "softmax of a first block");
    p.start["byte.l2"] = rows * static_cast<double>(w.headdim) * bytes;
    p.finish["byte.l2"] = rows * static_cast<double>(w.headdim_v) * 2;
    p.finish["flop.fma.fp32"] = slot * rows * columns_v * counted(1.5, "epilogue");
    return p;
}

/// What decides the main launch's counts beside its work.
struct MainLaunch {
    const Workload& workload;
    const schedule::Plan& plan;
    const schedule::Share& share;
    int stages, stage_bytes;  ///< of K and V in shared memory
    int threads, registers, smem_bytes;
    double q_row_bytes, kv_row_bytes;  ///< of a query's row, of a key and its value
    double kv_bytes;                   ///< of K and V, that are read at least once
};
/// `beside`: what products run beside everything of a softmax, whose exponentials stand between its
/// other operations.
Counts main_counts(const MainLaunch& launch, const schedule::BlockWork& of_block,
                   const std::vector<std::string>& beside);

/// The launches of a call: what is launched before, the clearing of a counter, the main one.
std::vector<Counts> launches_of(std::vector<Counts> before, const schedule::Plan& plan,
                                Counts main);

// What both engines share: the loop of e4m3 does the same as that of 16 bits, whose machine code
// was read.
inline constexpr std::string_view of_loop =
    "prefill_sm90's loop of blocks by the machine code of all tiles, exponentials apart";
inline constexpr Constant chain_of_block = code("prefill_sm90.block.chain", 257, of_loop);
inline constexpr Constant mask_of_key =
    calibrated("prefill_sm90.mask_of_key", 3.5,
               "clock() between work tiles under a causal mask, times of "
               "receipts/h200/2026-11-22-random-20261130-1f24940c08f4",
               0.5, "64 selections of a thread for a block of 128 keys, by the compiled code");

}  // namespace raceline::kernels::hopper

namespace raceline::kernels::prefill_sm90 {

// Clocks of a block are from the compiled code and the hardware's rates, between work tiles by
// clock() at the steps of three tiles.

/// What the schedule hands out: whole launch, and the CTA that is busy longest.
schedule::Share share_of(const Workload& workload, const schedule::Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// Of a warp and a block that all its rows see, exponentials and waits apart: clocks of stall
/// counts, and instructions, for which the warps of a quadrant share the issue slots. Five of the
/// values were worked out by hand with times at hand (calibrated); the others, and without
/// calibration all, are what the machine code says, as linear forms in keys and started products,
/// within a tenth.
struct BlockCode {
    double clocks, instructions;
};
BlockCode block_code(const Tile& tile);
/// What block_code leaves out of a block's stall counts and instructions, a key: half an
/// exponential, of eight clocks, in which three of eight issue slots are its own.
inline constexpr double exponential_clocks_of_key = 4;
inline constexpr double exponential_instructions_of_key =
    counted(1.5, "three of eight slots in four clocks a key");

/// Products: half a clock a column and step of 16 (wgmma of 64 rows at 1024 multiply-adds a clock).
/// Exponentials: a warp's go at eight clocks an instruction. What a warp does alone is block_code;
/// what has no fixed latency is a turn, three barriers of copies, three reductions into
/// uniform registers and a vote, some 25 each. A first block has maxima, which wait for each other,
/// and four exchanges more. A softcap's tanh (nine instructions a score, see f16_counts.cpp; beyond
/// three quarters of the cap 14, two of them on the units of the exponentials) takes issue slots.
/// Seven clocks a key beyond 128 are fitted to the tiles of 160 and 176 keys in
/// receipts/h200/2026-11-22-prefill_sm90-tiles-1f24940c08f4.jsonl, the stall counts do not have
/// them; a call that nobody gets in the way of (one row, 7,804 keys, in
/// 2026-11-22-random-20261130-1f24940c08f4.jsonl) has ten.
double clocks_of_block(const Tile& tile, bool first, int warpgroups, double softcap = 0);

/// Of the first block of a CTA, whose scores are complete and after which no values are multiplied.
double clocks_of_first_softmax(const Tile& tile, int warpgroups, double softcap = 0);

/// From this softcap on the counts have no block with a score beyond three quarters of the cap,
/// where tanh is a polynomial: scores of unit spread, which inputs of unit spread at the usual
/// scale give, stay below 4.5 in all but 1 % of a warp's blocks.
inline constexpr Constant softcap_near =
    assumed("prefill_sm90.softcap_near", 6, "scores of unit spread stay below 4.5 in all but 1 %");

/// Clocks of a warp for what a work tile's end and the next one's begin take beside a steady block,
/// a first block's maxima and masks: where the work tile stands, its output. `warpgroups`: those
/// that have rows and are in each other's way. By clock() at every step of d64 with four
/// warpgroups, d128 with three and d256 with two (512 tokens on an H200), maxima and late rows
/// included: 4,700, 5,500 and 6,900; what is in the way of what follows from tiles of other numbers
/// of warpgroups. Traced when outputs went straight from registers, 31 instructions for 16 columns
/// by the compiled code; through shared memory they take 14.
double clocks_between_tiles(const Tile& tile, int warpgroups);

/// Of a block that needs a mask, whichever end of what its rows see lies in it: 3.5 a key and warp
/// beside others.
double clocks_of_mask(const Tile& tile, int warpgroups);

}  // namespace raceline::kernels::prefill_sm90

namespace raceline::kernels::prefill_sm90_fp8 {

// What the compiled code and the hardware's rates say is a fifth to a third too little; the rest is
// fitted to measured times, as said at each.

/// What the schedule hands out: whole launch, and the CTA that is busy longest.
schedule::Share share_of(const Workload& workload, const schedule::Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// Products: half a clock a column and step of 32 (wgmma of 64 rows at 4096 multiply-adds a clock).
/// Exponentials: a warp's go at eight clocks an instruction. From the compiled loops: a quarter of
/// a clock a key (copying P), prefill_sm90's chain and instructions of a block, and six waits of
/// some 12; a first block has maxima and six exchanges more. Fitted to times on an H200: 36 clocks
/// a step of 32, half of them at the issue slots, for which the code gives no reason, 28 in tiles
/// with `prepared`. No block takes less than the busiest transposing warp needs.
double clocks_of_block(const Tile& tile, bool first, int warpgroups);
/// Of a work tile's first block, its softmax alone.
double clocks_of_first_softmax(const Tile& tile, int warpgroups);

/// Clocks of a warp for all that a work tile's end and the next one's begin take beside a steady
/// block, where so many warpgroups have rows; fitted to the sweep named in e4m3_counts.cpp.
double clocks_between_tiles(const Tile& tile, int warpgroups);
/// Of a block's mask.
double clocks_of_mask(const Tile& tile, int warpgroups);

}  // namespace raceline::kernels::prefill_sm90_fp8

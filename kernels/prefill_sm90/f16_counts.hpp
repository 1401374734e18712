// SPDX-License-Identifier: Apache-2.0
// What prefill_sm90 does, and clocks that a matrix warpgroup's steps take: of a block from the
// compiled code and the hardware's rates, between work tiles by clock() at the steps of three
// tiles.
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "schedule/plan.hpp"
#include "schedule/share.hpp"

namespace raceline::kernels::prefill_sm90 {

/// How a call is cut into work tiles: for counts and launch alike. Lengths at most
/// schedule::longest_length, work tiles at most schedule::most_work_tiles.
inline schedule::Plan make_plan(const Problem& problem, const Tile& tile, const Device& device) {
    return schedule::make_plan(problem, tile.rows, 2, device);
}
/// What the schedule hands out: whole launch, and the CTA that is busy longest.
schedule::Share share_of(const Workload& workload, const schedule::Plan& plan, const Tile& tile);

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

/// Of a warp and a block that all its rows see, exponentials and waits apart: clocks of stall
/// counts, and instructions, for which the warps of a quadrant share the issue slots. The values
/// were worked out by hand with times at hand (calibrated); without calibration they are what the
/// machine code says, as linear forms in keys and started products, within a tenth.
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
/// and four exchanges more. A softcap's tanh (nine instructions a score, see counts.cpp; beyond
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

/// More of them, in a work tile whose warpgroups have equal shares, where two do not take turns: as
/// if they fell into step, and their ends of work tiles came at the same time (not traced). Fitted
/// to five sweeps of the pairs of tiles that differ in turns alone (…-prefill_sm90-tiles-…, no
/// mask): at 512 tokens d128 is 2 to 6 % faster with turns, some 0.36 µs a work tile, d256 1.6 % in
/// the mean. Three warpgroups are left out: at d128 they show nothing, at d64 2 to 3 % at 512.
double clocks_in_step(const Tile& tile, int warpgroups, bool equal_shares);

/// Of a block that needs a mask, whichever end of what its rows see lies in it: 3.5 a key and warp
/// beside others.
double clocks_of_mask(const Tile& tile, int warpgroups);

/// Where pieces of Q for two work tiles do not fit, the next work tile's rows are late: by 2,000
/// clocks without any, by 500 with half (clock(), as above).
double clocks_of_late_rows(const Tile& tile);

}  // namespace raceline::kernels::prefill_sm90

// SPDX-License-Identifier: Apache-2.0
// What a warp of simt executes: instructions along the path taken, and clocks that a warp alone
// needs for them. Read from the machine code that nvcc makes for sm_90 (nvdisasm), of the tile of
// 16 rows and V of 64, for contiguous fp32 and bf16; the two inner loops are held to the code of
// every tile by a test. Not read but estimated from the source: e4m3, softcap, paged and unaligned
// rows, the split of the finish between its warps, the merge's reductions. Clocks are the stall
// counts that the compiler wrote into the code plus the latencies it can only wait for: shared
// memory 29 and L1 41 (arXiv 2402.13499, H100); shuffles 24, special functions 18, constants 30 are
// assumed, no source for Hopper was at hand.
// Provenance of the numbers below: code, but for those that a comment calls assumed or estimated.
#pragma once

#include "kernels/simt/tile.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::simt {

/// Of one warp.
struct Code {
    double instructions = 0;
    double clocks = 0;
    Code& operator+=(Code other) {
        instructions += other.instructions;
        clocks += other.clocks;
        return *this;
    }
};
constexpr Code operator*(double times, Code code) {
    return {times * code.instructions, times * code.clocks};
}
constexpr Code operator+(Code a, Code b) {
    return {a.instructions + b.instructions, a.clocks + b.clocks};
}

/// Eight columns of the scores of rows × keys a lane: the loop of `scores`, unrolled twice. 4 FMAs
/// a row, key and quad; a load a row and a key; addresses and the branch. The loop starts with its
/// loads, so a warp alone waits for them.
constexpr Code score_pair(int rows, int keys) {
    const double instructions = 8.0 * rows * keys + 2.0 * (rows + keys) + 10;
    return {instructions, instructions + 48};
}

/// Four keys of `accumulate`: 4 FMAs a key, row and quad of outputs; a load a row for the
/// probabilities, one a key and quad of V. Nearly every load is followed by a stall.
constexpr Code accumulate_quad(int rows, int quads) {
    const double instructions = 16.0 * rows * quads + rows + 4.0 * quads + 10;
    return {instructions, 1.2 * instructions + 24};
}

/// One row of `softmax`: a key is compared, scaled, raised, added and stored (10), an output quad
/// rescaled (4). The clocks are three shuffles and two exponentials one after the other.
constexpr Code softmax_row(int keys, int quads, bool softcap) {
    const double instructions = 18.0 + (softcap ? 40 : 10) * keys + 4.0 * quads;
    return {instructions, instructions + 142 + (softcap ? 80.0 * keys : 0)};
}

/// A 16-byte chunk of K or V: its address and load.
constexpr Code load_chunk(bool paged) {
    return paged ? Code{31, 84 + 41 + 30} : Code{19, 84};
}
/// Its conversion and stores, by bytes of an element. The type is looked at once a chunk.
constexpr Code store_chunk(double element_bytes) {
    return element_bytes == 4 ? Code{10, 43} : element_bytes == 2 ? Code{44, 148} : Code{42, 130};
}
/// Passes of a warp through shared memory for one chunk a lane. The compiler splits the 16 bytes of
/// fp32 into four stores, whose lanes are 16 bytes apart: four conflicts each.
constexpr double store_chunk_passes(double element_bytes) {
    return element_bytes == 4 ? 4 * 4 : 16 / element_bytes;
}
/// The batch's own share of the loop, and the head of `stage`: a division, addresses, the barrier.
inline constexpr Code batch_end{12, 24};
inline constexpr Code stage_head{140, 480};
/// Any alignment: an element divides for its row and is loaded, converts and stores itself; four
/// are unrolled.
inline constexpr Code element_loaded{24, 40};
inline constexpr Code element_stored{12, 20};
/// The rest of the loop over tiles, and what stands before the loop of `scores`.
inline constexpr Code tile_head{48, 144};

/// `locate`, the rows' own ranges of keys (a division each), and the head of Q's staging.
constexpr Code start(int rows) {
    return Code{401, 1684} + rows * Code{54, 231};
}
/// A chunk of Q: a division for its query, the load; stores as of K, but fp32 in one.
inline constexpr Code load_query_chunk{54, 229};

/// `gather` (three shuffles a row) and the head of `write_rows`.
constexpr Code gathered(int rows) {
    return Code{80, 110} + rows * Code{7, 30};
}
/// Four outputs: brought to the common maximum of the warps, divided and stored.
constexpr Code write_quad(int key_warps, bool partial) {
    return Code{partial ? 82.0 : 131.0, partial ? 234.0 : 480.0} + key_warps * Code{21, 42};
}

/// A loop's way back to its first instruction, of a warp alone: what a turn takes longer than its
/// instructions (loops of 32, 52 and 64 multiply-adds, 44.4, 64.4 and 76.4 clocks).
inline constexpr Constant branch_back =
    probe("simt.branch_back", 12.4, "receipts/h200/logs/2026-11-24-instruction-fetch.log");

/// `merge`, of a row up to 128 columns wide; its stall counts were added up branch by branch. Which
/// row, two divisions. A look at the sums of 32 splits, each of two passes. Reductions of two
/// values over a warp, and the head of the loop over splits. A split's share of the outputs, whose
/// branch keeps the next split's loads behind this one's: its sum, then its row. The end:
/// divisions, the row's own factor, the warps' outputs, the answer, whose last instructions are one
/// warp's.
inline constexpr Code merge_start{76, 543};
inline constexpr Code merge_sums{35, 130};
inline constexpr Code merge_totals{104, 550};
inline constexpr Code merge_split{37, 121 + 41};
inline constexpr Code merge_end{149 + 152 / 4.0, 1109};

}  // namespace raceline::kernels::simt

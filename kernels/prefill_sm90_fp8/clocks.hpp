// SPDX-License-Identifier: Apache-2.0
// Clocks that a matrix warpgroup's steps take, read from the compiled code and the hardware's
// rates; none is timed.
#pragma once

#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Products: half a clock a column and step of 32 (wgmma of 64 rows at 4096 multiply-adds a clock).
/// Exponentials: a warp's go at eight clocks an instruction. What a warp does alone is read from
/// the compiled loops: the stall counts in the instructions, exponentials and the issue of products
/// left out, sum up to a quarter of a clock a key (copying P) and 145; what has no fixed latency is
/// a turn, three barriers of copies and two exchanges within the warp, some 20 each. A first block
/// has maxima, which wait for each other, and six exchanges more. How long the transposition of V
/// takes is not in it.
double clocks_of_block(const Tile& tile, bool first, int warpgroups);

/// Clocks of a warp for all that an item's end and the next one's begin take beside products and
/// softmax, read from the compiled code in the same way: where the item stands, and its output.
double clocks_of_item(const Tile& tile);

}  // namespace raceline::kernels::prefill_sm90_fp8

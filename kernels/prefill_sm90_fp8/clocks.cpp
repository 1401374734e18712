// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/clocks.hpp"

#include <algorithm>
#include <string_view>

#include "gpu/tile/network.hpp"
#include "model/constant.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

namespace {

// Clocks in which a transposing warp turns a piece of 32 keys and 16 columns. They bind at head dim
// 256 alone, where the tiles of 64 and 96 keys take 172 to 179 a piece of the busiest warp and the
// same blocks without transposition a sixth less.
constexpr Constant clocks_of_piece =
    calibrated("prefill_sm90_fp8.transposed_piece", 172,
               "receipts/h200/2026-11-22-prefill_sm90_fp8-tiles-8b1b73d27634, head dim 256", 0,
               "term dropped: the transposition is beside the products");
// Beside what the code says, of a wgmma of 32 keys or columns, half of it at the issue slots. The
// tiles that alternate take those of the others; they were not fitted again.
constexpr Constant unexplained = calibrated(
    "prefill_sm90_fp8.product.unexplained", 48,
    "the sweep of all tiles on training-16k of d6da988 (receipts/index.jsonl)", 0, "term dropped");
constexpr Constant unexplained_prepared =
    calibrated("prefill_sm90_fp8.product.unexplained_prepared", 40,
               "one run of six tiles at 16k (receipts/index.jsonl)", 0, "term dropped");
constexpr Constant exponential_clocks =
    manual("sm.exponential_clocks", 8,
           "16 results a clock and SM: CUDA C++ Programming Guide, throughput");
// Worked out by hand from the loop of blocks, with the kernel's times at hand. What stands in is
// prefill_sm90's loop by its machine code, which does the same in 16 bits.
constexpr std::string_view by_hand = "the loop of blocks, with times of prefill_sm90_fp8 at hand";
constexpr std::string_view of_other_loop = "prefill_sm90's loop of blocks by its machine code";
constexpr Constant chain =
    calibrated("prefill_sm90_fp8.block.chain", 145, by_hand, 257, of_other_loop);
constexpr Constant issue =
    calibrated("prefill_sm90_fp8.block.instructions", 60, by_hand, 119, of_other_loop);
constexpr Constant copy_of_key = code("prefill_sm90_fp8.block.copy_of_key", 0.25,
                                      "probabilities copied into the order of the product");
constexpr Constant wait = calibrated(
    "prefill_sm90_fp8.block.wait", 20,
    "a turn, a barrier or a vote: a guess, made with the kernel's times at hand; that of "
    "prefill_sm90 for the same is another",
    12, "as prefill_mma.vote: a barrier that nobody is late for");
constexpr Constant waits = code("prefill_sm90_fp8.block.waits", 6, "waits in the loop of blocks");
constexpr Constant waits_alternating =
    code("prefill_sm90_fp8.block.waits_alternating", 5,
         "waits in the alternating loop, but for pieces of values");
constexpr Constant maximum_of_key =
    code("prefill_sm90_fp8.block.maximum_of_key", 1.5, "maxima of an item's first block");
constexpr Constant exchanges = code("prefill_sm90_fp8.block.exchanges", 6,
                                    "exchanges between lanes for the maxima of a first block");
constexpr Constant item_column =
    calibrated("prefill_sm90_fp8.item.column", 15,
               "the sweep of all tiles on training-16k of d6da988 (receipts/index.jsonl)",
               31.0 / 16, "31 instructions for 16 columns, by the compiled code");
constexpr Constant item_block = calibrated(
    "prefill_sm90_fp8.item.block", 0.055,
    "the sweep of all tiles on training-16k of d6da988 (receipts/index.jsonl)", 0, "term dropped");
constexpr Constant mask_of_key = calibrated(
    "prefill_sm90_fp8.mask_of_key", 3.5, "as fitted to prefill_sm90", 0.5,
    "64 selections of a thread for a block of 128 keys, by prefill_sm90's compiled code");

double transposition(const Tile& t) {
    if (t.prepared != 0) {
        return 0;
    }
    const int pieces = t.keys / 32 * (t.headdim / 16);
    const int of_busiest_warp = (pieces + transposers - 1) / transposers;
    return clocks_of_piece * of_busiest_warp;
}

double unexplained_clocks(const Tile& t) {
    return t.prepared != 0 ? unexplained_prepared : unexplained;
}

gpu::BlockClocks block_clocks(const Tile& t, bool first) {
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
    // Who alternates copies no probabilities, but waits for every piece of the values, and no
    // values are multiplied under its exponentials.
    const double copies = t.alternates() ? 0 : copy_of_key * keys;
    const double waited = t.alternates() ? waits_alternating + t.value_pieces() : waits;
    const double alone = copies + chain + wait * waited + half + maxima;
    return {tensor, exponentials, issued, alone, t.alternates() ? 0 : values};
}

}  // namespace

double clocks_of_block(const Tile& t, bool first, int warpgroups) {
    return std::max(transposition(t), gpu::shared_clocks(block_clocks(t, first), warpgroups));
}

double clocks_of_first_softmax(const Tile& t, int warpgroups) {
    gpu::BlockClocks block = block_clocks(t, true);
    block.tensor = block.values = 0;
    return gpu::shared_clocks(block, warpgroups);
}

double clocks_of_item(const Tile& t, int warpgroups) {
    // Larger blocks take longer to get going. Once thought to be the wait for a first block's V to
    // be transposed; but tiles whose V has been transposed before take as long.
    const double first = item_block * t.keys * t.headdim;
    return gpu::between_items(item_column * t.headdim + first, warpgroups);
}

double clocks_of_mask(const Tile& t, int warpgroups) {
    return gpu::between_items(mask_of_key * t.keys, warpgroups);
}

}  // namespace raceline::kernels::prefill_sm90_fp8

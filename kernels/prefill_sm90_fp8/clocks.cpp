// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/clocks.hpp"

#include <algorithm>

#include "gpu/tile/network.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

namespace {

// Clocks in which a transposing warp turns a piece of 32 keys and 16 columns. They bind at head dim
// 256 alone, where the tiles of 64 and 96 keys take 172 to 179 a piece of the busiest warp and the
// same blocks without transposition a sixth less
// (receipts/h200/2026-11-22-prefill_sm90_fp8-tiles-8b1b73d27634.jsonl).
constexpr double clocks_of_piece = 172;

double transposition(const Tile& t) {
    if (t.prepared != 0) {
        return 0;
    }
    const int pieces = t.keys / 32 * (t.headdim / 16);
    const int of_busiest_warp = (pieces + transposers - 1) / transposers;
    return clocks_of_piece * of_busiest_warp;
}

// Beside what the code says, of a step of 32: see the header.
double unexplained_clocks(const Tile& t) {
    return t.prepared != 0 ? 40 : 48;
}

gpu::BlockClocks block_clocks(const Tile& t, bool first) {
    const double keys = t.keys;
    const double steps_qk = t.headdim / 32.0;
    const double steps_pv = keys / 32;
    const double values = steps_pv * t.headdim / 2;
    const double tensor = steps_qk * keys / 2 + values;
    const double exponentials = 4 * keys;
    const double maxima = first ? 1.5 * keys + 6 * 20 : 0;
    const double half = unexplained_clocks(t) / 2 * (steps_qk + steps_pv);
    // Promotion is an addition an output, of which a thread has half a column's.
    const double additions = t.promote != 0 ? t.headdim / 2.0 : 0;
    const double issued = 60 + half + additions;
    // Who alternates copies no probabilities, but waits for every piece of the values, and no
    // values are multiplied under its exponentials.
    const double copies = t.alternates() ? 0 : 0.25 * keys;
    const double waits = t.alternates() ? 5 + t.value_pieces() : 6;
    const double alone = copies + 145 + 20 * waits + half + maxima;
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
    const double first = 0.055 * t.keys * t.headdim;
    return gpu::between_items(15 * t.headdim + first, warpgroups);
}

double clocks_of_mask(const Tile& t, int warpgroups) {
    return gpu::between_items(3.5 * t.keys, warpgroups);
}

}  // namespace raceline::kernels::prefill_sm90_fp8

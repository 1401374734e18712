// SPDX-License-Identifier: Apache-2.0
// Where elements stand in shared memory and in a warpgroup's accumulators, and how probabilities
// become the next product's A operand. PTX ISA, "Register fragments for wgmma". Tested on the host.
#pragma once

namespace raceline::kernels::prefill_sm90 {

/// Row of a 64-row accumulator that thread `lane` of warp `warp` holds; i 0 or 1.
constexpr int fragment_row(int warp, int lane, int i) {
    return 16 * warp + lane / 4 + 8 * i;
}
/// Element of the thread's accumulators: column group j (8 columns), row i, e 0 or 1.
constexpr int fragment_element(int j, int i, int e) {
    return 4 * j + 2 * i + e;
}
/// Column of that element.
constexpr int fragment_column(int lane, int j, int e) {
    return 8 * j + 2 * (lane % 4) + e;
}
/// First of the two accumulators that word w of the A operand for columns 16·step … 16·step + 15
/// is made of, the second follows it: A's layout is the accumulators' own.
constexpr int operand_source(int step, int w) {
    return 8 * step + 2 * w;
}

/// Byte of a 16-byte piece in shared memory as TMA's and wgmma's 128-byte swizzle have it: slabs of
/// eight pieces a row, pieces exchanged within a row by the row's place among eight. `piece` counts
/// through all slabs, `rows` is of a slab.
constexpr int swizzled_bytes(int row, int piece, int rows) {
    return (piece / 8 * rows + row) * 128 + ((piece % 8) ^ (row % 8)) * 16;
}

}  // namespace raceline::kernels::prefill_sm90

// SPDX-License-Identifier: Apache-2.0
// Where elements stand in shared memory and in a warpgroup's registers, and how probabilities
// become the next product's A operand. PTX ISA, "Register fragments for wgmma". Tested on the host.
//
// In 8 bits a thread's accumulators of one row are keys 2t and 2t + 1 of every eight (t: its place
// in its quad); the next product's A operand wants four keys in a row of one byte each. Instead of
// moving probabilities between threads, the keys are renumbered: within 16, position 4t + 2a + e
// stands for key 8a + 2t + e, and V is transposed into that order. Its columns are renumbered as
// well, by sixteens, so that the transposition writes eight neighbouring rows of shared memory at a
// time.
#pragma once

namespace raceline::kernels::hopper {

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

/// Byte of a 16-byte chunk in shared memory as TMA's and wgmma's 128-byte swizzle have it: slabs of
/// eight chunks a row, chunks exchanged within a row by the row's place among eight. `chunk` counts
/// through all slabs, `rows` is of a slab.
constexpr int swizzled_bytes(int row, int chunk, int rows) {
    return (chunk / 8 * rows + row) * 128 + ((chunk % 8) ^ (row % 8)) * 16;
}

/// The accumulator that becomes byte `byte` of word `word` of the A operand of a step of 32 keys.
constexpr int operand_source(int step, int word, int byte) {
    return fragment_element(4 * step + word / 2 * 2 + byte / 2, word % 2, byte % 2);
}
/// Where a key of a block stands along K of the second product.
constexpr int key_position(int key) {
    return key / 16 * 16 + key % 8 / 2 * 4 + key % 16 / 8 * 2 + key % 2;
}
/// Row of V transposed, so column of the second product, that a column of V becomes.
constexpr int value_row(int column) {
    return column / 16 * 16 + column % 2 * 8 + column % 16 / 2;
}
/// Of the four neighbouring columns 16·group + 4·(lane % 4) + c that a thread then has of a row:
/// the accumulator that is column c.
constexpr int output_source(int group, int i, int c) {
    return fragment_element(2 * group + c % 2, i, c / 2);
}

/// Byte of a 16-byte chunk in shared memory as TMA's and wgmma's swizzle of `row_bytes` has it:
/// slabs of `rows` rows of `row_bytes`, chunks exchanged within a row by address bits 7 to 9.
/// `chunk` counts through all slabs.
template <int row_bytes>
constexpr int swizzled_bytes(int row, int chunk, int rows) {
    constexpr unsigned chunks = row_bytes / 16;  // unsigned: division by it is a shift
    const auto at = static_cast<unsigned>(chunk);
    const unsigned line = (at / chunks * rows + row) * row_bytes;
    return static_cast<int>(line + ((at % chunks) ^ (line / 128 % chunks)) * 16);
}

}  // namespace raceline::kernels::hopper

// SPDX-License-Identifier: Apache-2.0
// Where elements stand in shared memory, in the registers of a warp, and which of them a lane's
// ldmatrix address names. PTX ISA, "Matrix fragments for mma.m16n8k16" and "ldmatrix". Tested on
// the host.
#pragma once

namespace raceline::kernels::prefill_mma {

/// Row of a 16-row accumulator that `lane` holds; i 0 or 1.
constexpr int fragment_row(int lane, int i) {
    return lane / 4 + 8 * i;
}
/// Register of a lane's 16 × 8 accumulator: row i, e 0 or 1.
constexpr int fragment_register(int i, int e) {
    return 2 * i + e;
}
/// Column of that element in column group j (8 columns each).
constexpr int fragment_column(int lane, int j, int e) {
    return 8 * j + 2 * (lane % 4) + e;
}

/// Word w of the A operand for columns 16·step … 16·step + 15 is made of two accumulators: of row
/// i = w % 2 of this column group, since A's layout is the accumulators' own.
constexpr int operand_group(int step, int w) {
    return 2 * step + w / 2;
}

/// Byte of a 16-byte chunk in shared memory: slabs of eight chunks a row, chunks exchanged within a
/// row by the row's place among eight, so that eight rows of one column lie in different banks.
/// `chunk` counts through all slabs, `rows` is of a slab.
constexpr unsigned swizzled_bytes(unsigned row, unsigned chunk, unsigned rows) {
    return (chunk / 8 * rows + row) * 128 + ((chunk % 8) ^ (row % 8)) * 16;
}
/// Two chunks further on is an exclusive or, as long as `chunk` stays in its slab.
constexpr unsigned swizzled_step(unsigned offset, unsigned step) {
    return offset ^ (32 * step);
}

/// Row and chunk that a lane's ldmatrix.x4 address names, from the corner of 16 × 16 elements.
struct Corner {
    unsigned row, chunk;
};
/// Matrices in the order of the A operand's words: rows first. Of V, transposed, in the order of
/// two B operands side by side.
constexpr Corner rows_first(unsigned lane) {
    return {lane % 8 + lane / 8 % 2 * 8, lane / 16};
}
/// Of K, whose rows are the B operand's columns, in the order of two B operands.
constexpr Corner columns_first(unsigned lane) {
    return {lane % 8 + lane / 16 * 8, lane / 8 % 2};
}

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
// Instructions and clocks of the parts of fp8_kv's two launches.
// Provenance of the numbers below: code, but for those that a comment calls assumed or estimated.
#pragma once

namespace raceline::kernels::fp8_kv {

// Of one warp, read from the machine code for sm_90 (nvdisasm). Clocks are the compiler's stall
// counts and what it can only wait for: shared memory 29 (arXiv 2402.13499, H100); shuffles 24 and
// special functions 18 are assumed, no source for Hopper was at hand.
struct Code {
    double instructions, clocks;
};
// 32 columns of the dot products of 32 keys; the values of eight keys; what stands around them: the
// maximum's five shuffles a row, two exponentials, the rescaling.
constexpr Code dot_code(double rows) {
    return {43 + 40 * rows, 140 + 38 * rows + 29};
}
constexpr Code values_code(bool long_row, double rows) {
    return long_row ? Code{47 + 34 * rows, 105 + 34 * rows + 29}
                    : Code{33 + 18 * rows, 85 + 17.5 * rows + 29};
}
constexpr Code around_code(double rows) {
    return {18 + 24 * rows, 90 + 38 * rows + 5 * 24 + 2 * 18 + 29};
}
constexpr Code block_code(double d, double rows) {
    const Code dot = dot_code(rows), values = values_code(d == 128, rows), rest = around_code(rows);
    return {d / 32 * dot.instructions + 4 * values.instructions + rest.instructions,
            d / 32 * dot.clocks + 4 * values.clocks + rest.clocks};
}
// Eight loads of a thread, four places looked up, 64 conversions of two elements.
constexpr Code stage_code(bool long_row) {
    return long_row ? Code{354, 620 + 29} : Code{300, 550 + 29};
}
inline constexpr double table_clocks = 41;  // the table's entries, found in L1 (arXiv 2402.13499)
inline constexpr Code tile_code{20, 60};    // the barriers and what stands before the loops
constexpr Code setup_code(double rows) {    // three divisions, addresses
    return {95 + 17 * rows, 470 + 40 * rows};
}
// A warp leaves its rows in shared memory, then merges and writes those of the CTA in turn.
constexpr Code finish_code(double rows, double rows_merged, double key_warps) {
    const double each = 90 + 22 * key_warps;
    return {20 + 6 * rows + each * rows_merged,
            90 + 12 * rows + (320 + 60 * key_warps) * rows_merged};
}
inline constexpr Code merge_group{132, 222 + 4 * 18};  // four parts
inline constexpr Code merge_ends{220, 900};

}  // namespace raceline::kernels::fp8_kv

// SPDX-License-Identifier: Apache-2.0
// Instructions and clocks of the parts of gqa_doublebuffer's two launches.
// Provenance of the numbers below: code, but for those that a comment calls assumed or estimated.
#pragma once

namespace raceline::kernels::gqa_doublebuffer {

// Of one warp, read from the machine code for sm_90 (nvdisasm). Clocks are the compiler's stall
// counts and what it can only wait for: shared memory 29 (arXiv 2402.13499, H100); shuffles 24 and
// special functions 18 are assumed, no source for Hopper was at hand.
struct Code {
    double instructions, clocks;
};
// One key: the dot product of every row and its five shuffles, the rows' chains side by side; two
// exponentials a row; the merges.
constexpr Code key_code(bool wide, bool long_row, double rows) {
    constexpr double waits = 29 + 5 * 24 + 18;
    const double base = wide ? 10 : (long_row ? 18 : 14);
    const double instructions = base + (long_row ? 30 : 24) * rows;
    const double stalls = (long_row ? 80 + 40 * rows : 76 + 36 * rows);
    return {instructions, stalls + waits};
}
inline constexpr Code copy_pair{38, 63};    // of 16 bytes of K and of V, the place looked up
inline constexpr double table_clocks = 10;  // a quarter of L1's 41 (arXiv 2402.13499): four at once
inline constexpr Code tile_code{40,
                                110};     // the wait, the barriers and what stands before the loops
constexpr Code setup_code(double rows) {  // three divisions, addresses
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

}  // namespace raceline::kernels::gqa_doublebuffer

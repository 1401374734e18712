// SPDX-License-Identifier: Apache-2.0
// Where the elements of a warpgroup's accumulators stand, and how probabilities become the next
// product's A operand. PTX ISA, "Register fragments for wgmma". Tested on the host.
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

}  // namespace raceline::kernels::prefill_sm90

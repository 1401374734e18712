// SPDX-License-Identifier: Apache-2.0
// The record of gqa_ilp, and what its main launch does otherwise than gqa's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/gqa/gqa.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa_ilp {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes =
        "the loop over keys is unrolled by four, with four independent chains a row; with it the "
        "outputs are rescaled once for four keys",
    .evidence =
        "twenty shuffles a row in the loop, the first of all four keys before any is added; no "
        "branch between the chains",
};

using namespace decode;

namespace {

// Four keys: their dot products and shuffles side by side, five exponentials a row.
Code keys_code(bool wide, bool long_row, double rows) {
    constexpr double waits = 29 + 5 * 24 + 2 * 18;
    const double base = wide ? 36 : (long_row ? 68 : 52);
    const double instructions = base + (long_row ? 103.5 : 85.5) * rows;
    const double stalls = long_row ? 200 + 128 * rows : 140 + 126 * rows;
    return {instructions, stalls + waits};
}

Form form_of(const Workload& w) {
    Form f = gqa::form_of(w);
    const Code four = keys_code(w.dtype == DType::fp32, w.headdim == 128, f.packed);
    f.keys_at_once = 4;
    f.keys = {{"op.issue", threads * four.instructions},
              {"flop.fma.fp32", warps * f.packed * (4 * 4 + 1) * f.columns},
              {"op.ex2", warps * f.packed * 5 * lanes},
              {"byte.smem_lsu", warps * 4 * (f.kv_bytes + f.packed * 5 * line)}};
    f.key_clocks = four.clocks;
    f.registers = registers_of(
        f, w, {{64, 72, 91, 152}, {72, 88, 119, 196}, {72, 72, 92, 154}, {72, 80, 113, 193}});
    return f;
}

}  // namespace
}  // namespace raceline::kernels::gqa_ilp

RACELINE_KERNEL(gqa_ilp, record_of<Functions<gqa::layout_of, gqa::reason, form_of>>(
                             "gqa with the loop over keys unrolled by four", rung))

// SPDX-License-Identifier: Apache-2.0
// The record of gqa_scorestationary, and what its main launch does otherwise than gqa's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.hpp"

#include "ladder/decode/gqa/gqa.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa_scorestationary {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes =
        "a lane has a key and computes its whole dot product; with it come padded rows of K, Q "
        "and probabilities in shared memory, and tiles of 128 keys, which let three CTAs on an SM",
    .evidence = "five shuffles a row in a loop over 32 keys, where gqa has five a key",
};

using namespace decode;

// 32 columns of the dot products of 32 keys; the values of eight keys; what stands around them: the
// maximum's five shuffles a row, two exponentials, the rescaling.
static Code block_code(double d, double rows) {
    const Code dot{43 + 40 * rows, 140 + 38 * rows + 29};
    const Code values = d == 128 ? Code{47 + 34 * rows, 105 + 34 * rows + 29}
                                 : Code{33 + 18 * rows, 85 + 17.5 * rows + 29};
    const Code around{18 + 24 * rows, 90 + 38 * rows + 5 * 24 + 2 * 18 + 29};
    return {d / 32 * dot.instructions + 4 * values.instructions + around.instructions,
            d / 32 * dot.clocks + 4 * values.clocks + around.clocks};
}

Form form_of(const Workload& w) {
    // Sixteen bytes a lane are four passes, two where neighbouring lanes read the same: a pass then
    // fills two registers (forums.developer.nvidia.com/t/77228, said of compute capability 7).
    constexpr double shared_quad = 2 * line;
    Form f = gqa::form_of(w);
    const double d = f.columns, half_bytes = 2;
    const Code block = block_code(d, f.packed);
    f.tile_keys = tile_keys(static_cast<int>(w.headdim));
    f.keys_at_once = 32;
    // Of shared memory a warp reads K and V once; a row of Q and its probabilities by 16 bytes that
    // are the same for all lanes; probabilities out; shuffles.
    f.keys = {{"op.issue", threads * block.instructions},
              {"flop.fma.fp32", warps * f.packed * (4 * 32 + 1) * d},
              {"op.ex2", warps * f.packed * 2 * lanes},
              {"byte.smem_lsu", warps * (32 * 2 * d * half_bytes +
                                         f.packed * ((d / 4 + 8) * shared_quad + 6 * line))}};
    f.key_clocks = block.clocks;
    f.registers = registers_of(f, w, {{72, 74, 98, 126}, {72, 80, 106, 142}});
    return f;
}

}  // namespace raceline::kernels::gqa_scorestationary

RACELINE_KERNEL(gqa_scorestationary,
                record_of<Functions<layout_of, reason<DType::fp16>, form_of>>(
                    "gqa with a key a lane: one reduction a row for 32 keys", rung))

// SPDX-License-Identifier: Apache-2.0
// The record of fp8_kv, and what its main launch does otherwise than gqa_scorestationary's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/fp8_kv/fp8_kv.hpp"

#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::fp8_kv {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa_scorestationary",
    .changes =
        "the cache is E4M3 with a scale a KV head for K and for V; elements become halves on "
        "their way to shared memory",
    .evidence =
        "one byte an element from memory; F2FP.F16.E4M3 between the load and the store, none in "
        "the loop over keys; no other launch that converts",
};

using namespace decode;

Form form_of(const Workload& w) {
    Form f = gqa_scorestationary::form_of(w);
    // Eight loads of a thread, four places looked up, 64 conversions of two elements.
    f.stage.code = w.headdim == 128 ? Code{354, 620 + 29} : Code{300, 550 + 29};
    f.stage.staged_bytes = 2 * f.stage.bytes;
    f.registers = registers_of(f, w, {{79, 83, 101, 128}, {85, 89, 108, 144}});
    return f;
}

}  // namespace raceline::kernels::fp8_kv

RACELINE_KERNEL(fp8_kv, record_of<Functions<gqa_scorestationary::layout_of,
                                            gqa_scorestationary::reason<DType::e4m3>, form_of>>(
                            "gqa_scorestationary on a cache of E4M3", rung))

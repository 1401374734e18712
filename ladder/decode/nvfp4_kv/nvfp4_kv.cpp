// SPDX-License-Identifier: Apache-2.0
// The record of nvfp4_kv, and what its main launch does otherwise than fp8_kv's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/fp8_kv/fp8_kv.hpp"
#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::nvfp4_kv {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "fp8_kv",
    .changes =
        "the cache is NVFP4: codes of E2M1 with an E4M3 scale for 16 elements, and a scale a KV "
        "head for K and for V",
    .evidence =
        "0.5625 bytes an element from memory; PRMT and HMUL2 between the load and the store, one "
        "conversion for 32 elements (F2FP of their two scales), none in the loop over keys",
};

using namespace decode;

namespace {

Form form_of(const Workload& w) {
    constexpr double loads = threads * 8.0;  // of a stage, all under way at once: a whole tile
    const bool long_row = w.headdim == 128;
    Form f = fp8_kv::form_of(w);
    // Eight loads of 16 bytes and eight of two of a thread, four places looked up, 256 elements by
    // 256 permutes and 128 multiplications of pairs; constants that the compiler moves about.
    f.stage.code = long_row ? Code{1310, 2000 + 29} : Code{1305, 1950 + 29};
    f.stage.bytes = loads * 18;             // codes and scales
    f.stage.staged_bytes = loads * 32 * 2;  // as halves
    // Two fewer for the values of eight keys, of which there are four in a round.
    f.keys["op.issue"] -= long_row ? 0 : threads * 4 * 2;
    f.registers = registers_of(f, w, {{140, 141, 145, 161}, {139, 146, 158, 162}});
    return f;
}

}  // namespace
}  // namespace raceline::kernels::nvfp4_kv

RACELINE_KERNEL(nvfp4_kv, record_of<Functions<gqa_scorestationary::layout_of,
                                              gqa_scorestationary::reason<DType::nvfp4>, form_of>>(
                              "gqa_scorestationary on a cache of NVFP4", rung))

// SPDX-License-Identifier: Apache-2.0
// The record of gqa_occupancy, and what its main launch does otherwise than gqa's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/gqa_occupancy/gqa_occupancy.hpp"

#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa_occupancy {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes = "half the tile, so that an SM holds four CTAs instead of two",
    .evidence =
        "48 KiB of shared memory a CTA and at most 128 registers a thread, nothing spilled; "
        "sixteen warps an SM",
};

using namespace decode;

namespace {

Form form_of(const Workload& w) {
    Form f = gqa::form_of(w);
    f.tile_keys = tile_keys_of(stage_bytes, w);
    f.registers = registers_of(
        f, w, {{72, 69, 86, 104}, {71, 80, 102, 128}, {72, 72, 92, 114}, {72, 80, 110, 128}});
    return f;
}

}  // namespace
}  // namespace raceline::kernels::gqa_occupancy

RACELINE_KERNEL(gqa_occupancy, record_of<Functions<layout_of, gqa::reason, form_of>>(
                                   "gqa with half the tile and twice the CTAs an SM", rung))

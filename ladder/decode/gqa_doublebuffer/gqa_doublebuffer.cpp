// SPDX-License-Identifier: Apache-2.0
// The record of gqa_doublebuffer, and what its main launch does otherwise than gqa's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "device/device.hpp"
#include "ladder/decode/gqa/gqa.hpp"
#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa_doublebuffer {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes =
        "K and V arrive by cp.async in one of two buffers while the other is computed on; with it "
        "tiles of half the size, in the same shared memory",
    .evidence =
        "LDGSTS and no staging through registers; in the loop over tiles a wait that leaves the "
        "latest group under way (DEPBAR.LE SB0, 1)",
};

using namespace decode;

namespace {

Form form_of(const Workload& w) {
    constexpr double pair = threads * 2 * 16.0;  // bytes of one copy of K and of V of every thread
    Form f = gqa::form_of(w);
    f.tile_keys = tile_keys_of(stage_bytes / 2, w);
    f.tile = {40, 110};  // the wait, the barriers and what stands before the loops
    f.stage = {.code = {38, 63},
               .bytes = pair,
               .staged_bytes = pair,
               .lookups = 1,
               .table_clocks = 10,  // a quarter of L1's 41 (arXiv 2402.13499): four at once
               .ahead = true};
    // Of the tile that is on its way meanwhile.
    f.keys["byte.l2"] = f.keys["byte.dram_read"] = f.key_warps * f.kv_bytes;
    f.registers = registers_of(
        f, w, {{76, 80, 96, 122}, {80, 96, 120, 162}, {74, 80, 96, 122}, {80, 96, 118, 160}});
    f.bytes_in_flight = stage_bytes / 2.0;  // a whole tile
    f.overlap.front().emplace_back("byte.dram_read");
    return f;
}

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    const bool copies = device.compute_capability >= 80;
    return first_of({other_calls(w, device, all_floats(w)), no_room(plan, device, "its stage"),
                     copies ? "" : "cp.async needs compute capability 8.0",
                     gqa::reason(w, plan, device)});
}

}  // namespace
}  // namespace raceline::kernels::gqa_doublebuffer

RACELINE_KERNEL(gqa_doublebuffer, record_of<Functions<gqa::layout_of, reason, form_of>>(
                                      "gqa with K and V double-buffered by cp.async", rung))

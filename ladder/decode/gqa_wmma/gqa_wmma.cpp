// SPDX-License-Identifier: Apache-2.0
// The record of gqa_wmma, and what its main launch does otherwise than gqa's.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/gqa_wmma/gqa_wmma.hpp"

#include <cmath>

#include "device/device.hpp"
#include "ladder/decode/gqa/gqa.hpp"
#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::gqa_wmma {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes =
        "both products on WMMA, the group padded to sixteen rows; with it come padded rows of the "
        "stage, and scores that go through shared memory",
    .evidence = "HMMA; four warps a CTA, each with keys of its own; no shuffle of a dot product",
};

using namespace decode;

namespace {

// Sixteen keys by sixteen rows: d / 16 products for the scores and as many for the outputs, the
// softmax between them by way of shared memory.
Code block_code(bool long_row) {
    constexpr double waits = 4 * 29 + 24 + 18;
    return {long_row ? 224.0 : 159.0, (long_row ? 596 : 432) + waits};
}
// A warp leaves its rows in shared memory, then merges and writes those of the CTA in turn.
Code finish_code(double d, double rows_merged, double key_warps) {
    const double each = 90 + 22 * key_warps;
    return {20 + d + each * rows_merged, 90 + 3 * d + (320 + 60 * key_warps) * rows_merged};
}

Form form_of(const Workload& w) {
    Form f = gqa::form_of(w);
    const double d = f.columns;
    const Code block = block_code(w.headdim == 128);
    f.tile_keys = tile_keys(static_cast<int>(w.headdim));
    f.packed = 16;
    f.key_warps = key_warps_of(row_warps_of(w.group()));
    f.setup = {400, 1300};  // Q by way of shared memory, the rows of a fragment
    f.finish = finish_code(d, std::ceil(f.cta_rows / warps), f.key_warps);
    f.keys_at_once = 16;
    f.keys = {{"op.issue", threads * block.instructions},
              {"flop.mma.fp16", warps * 2 * 2 * 16 * 16 * d},
              {"flop.fma.fp32", warps * 16 * d},  // outputs brought to the new maximum
              {"op.ex2", warps * 9 * lanes},
              // K and V once; scores and probabilities out and in; nine accesses to the factors.
              {"byte.smem_lsu", warps * (16 * f.kv_bytes + 2 * 1024 + 2 * 512 + 10 * line)}};
    f.key_clocks = block.clocks;
    f.registers = w.headdim == 64 ? 134 : 190;
    f.overlap.front().insert(f.overlap.front().begin(), "flop.mma.fp16");
    return f;
}

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    const bool wmma = device.compute_capability >= 70;
    return first_of({other_calls(w, device, all_halves(w)), no_room(plan, device, "it"),
                     wmma ? "" : "WMMA needs compute capability 7.0", too_wide(w), too_many_keys(w),
                     too_many_ctas(w, plan)});
}

}  // namespace
}  // namespace raceline::kernels::gqa_wmma

RACELINE_KERNEL(gqa_wmma,
                record_of<Functions<layout_of, reason, form_of>>(
                    "gqa with both products on tensor cores (WMMA)", rung, tracks::half_precision))

// SPDX-License-Identifier: Apache-2.0
// The record of mla, and what its main launch does.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/mla/mla.hpp"

#include <algorithm>
#include <cmath>

#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::mla {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "gqa",
    .changes =
        "one latent of 512 + 64 columns for up to 128 query heads, whose 512 columns are K and V "
        "at once (which takes rows of 18 columns a lane, so that a warp holds four and a CTA 32 "
        "heads)",
    .evidence =
        "the latent is read once a CTA, and once a warp from shared memory: three loads a key "
        "that serve both products",
};

using namespace decode;

// One key: 18 columns, converted once; of every row 18 multiply-adds, five shuffles, two
// exponentials and the merge of 16 outputs.
static Code key_code(double rows) {
    constexpr double waits = 29 + 5 * 24 + 18;
    return {46 + 68 * rows, 180 + 82 * rows + waits};
}
// A warp leaves its rows in shared memory, then merges and writes those of the CTA in turn.
static Code finish_code(double rows, double rows_merged, double key_warps) {
    const double each = 130 + 60 * key_warps;
    return {20 + 12 * rows + each * rows_merged,
            90 + 24 * rows + (330 + 140 * key_warps) * rows_merged};
}

Form form_of(const Workload& w) {
    constexpr double half_bytes = 2, batch = threads * 6 * 16.0;  // six loads a thread
    constexpr double others = warps - 1, one_more = 56;           // of the merge
    const Packing packing = packing_of(w.heads_q);
    const double rows = packing.rows, key_warps = key_warps_of(packing.row_warps, warps);
    const auto heads = static_cast<double>(std::min<std::int64_t>(w.heads_q, most_heads));
    const Code key = key_code(rows);
    Form f{.all_warps = warps,
           .cta_rows = heads,
           .packed = rows,
           .key_warps = key_warps,
           .columns = latent,
           .q_bytes = width * half_bytes,
           .kv_bytes = width * half_bytes,  // a key is also its value
           .out_bytes = latent * half_bytes,
           .tile_keys = tile_keys,
           .paged = w.page_size > 0,
           .setup = {100 + 62 * rows, 260 + 110 * rows},  // Q as floats
           .finish = finish_code(rows, std::ceil(heads / warps), key_warps),
           .stage = {.code = {150, 300 + 29},
                     .bytes = batch,
                     .staged_bytes = batch,
                     .lookups = 6,
                     .table_clocks = 41},  // found in L1 (arXiv 2402.13499)
           .key_clocks = key.clocks,
           .registers = rows == 1   ? 94
                        : rows == 2 ? 122
                                    : 202,
           .readers = std::ceil(static_cast<double>(w.heads_q) / most_heads),
           .merge = {.parts = 2,
                     .code = {130, 260 + 4 * 18},
                     .ends = 270,
                     .one_more = one_more,
                     .ends_clocks = 560 + others * 2 * one_more,
                     .registers = 58}};
    f.keys = one_key(f, key.instructions, 2 * width + 3 * latent);
    return f;
}

std::string other_calls(const Workload& w) {
    const bool halves = w.dtype == DType::fp16 && w.kv_dtype == w.dtype;
    const bool wide = w.mla && w.headdim == width && w.headdim_v == latent;
    return first_of({other_types(w, halves, "Q and the latent in fp16"),
                     wide ? "" : "it takes a latent of 512 + 64 columns", other_lengths(w),
                     other_scores(w)});
}

namespace {

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    return first_of({not_a_gpu(device), other_calls(w), no_room(plan, device, "its stage"),
                     too_many_keys(w), too_many_ctas(w, plan)});
}

}  // namespace
}  // namespace raceline::kernels::mla

RACELINE_KERNEL(mla, record_of<Functions<layout_of, reason, form_of>>(
                         "gqa on a latent that all heads share and that is key and value", rung,
                         tracks::float_precision, tiles))

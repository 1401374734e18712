// SPDX-License-Identifier: Apache-2.0
// The decode ladder's first rung: the record, and what its main launch does.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/splitkv/splitkv.hpp"

#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"

namespace raceline::kernels::splitkv {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "fused",
    .changes =
        "the keys are split over CTAs, whose partial answers are merged by LSE; with one row a "
        "head the warps of a CTA share its keys",
    .evidence =
        "two launches; CTAs follow the device's SM count; eight 16-byte loads under way; five "
        "shuffles a key",
};

using namespace decode;

// One key: the dot product and its five shuffles, one after the other; two exponentials, side by
// side; the merge.
static Code key_code(bool wide, bool long_row) {
    constexpr double waits = 29 + 5 * 24 + 18;
    const double instructions = wide ? (long_row ? 40 : 34) : (long_row ? 48 : 38);
    const double stalls = wide ? (long_row ? 110 : 100) : (long_row ? 122 : 110);
    return {instructions, stalls + waits};
}

Form form_of(const Workload& w) {
    const bool wide = w.dtype == DType::fp32, long_row = w.headdim == 128;
    const auto d = static_cast<double>(w.headdim);
    const double row_bytes = d * bytes_of(w.dtype);
    const double batch = threads * 8 * 16.0;  // eight loads a thread
    const Code key = key_code(wide, long_row);
    Form f{.columns = d,
           .q_bytes = row_bytes,
           .kv_bytes = 2 * d * bytes_of(w.kv_dtype),
           .out_bytes = row_bytes,
           .tile_keys = tile_keys_of(stage_bytes, w),
           .setup = {107, 480},  // two divisions, addresses
           // Warp 0 merges the others and writes; they write to shared memory and are done.
           .finish = {(120 + 3 * 25) / 4.0, 420},
           .stage = {.code = {85, 170 + 29}, .bytes = batch, .staged_bytes = batch},
           .key_clocks = key.clocks,
           .registers = long_row ? 64 : 60,
           .readers = static_cast<double>(w.group()),
           .readers_keep_pace = true};
    f.keys = one_key(f, key.instructions, 5 * d);
    return f;
}

namespace {

std::string contiguous(const Workload& w) {
    return w.ragged() || w.page_size > 0 ? "it takes contiguous sequences of one length" : "";
}

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    return first_of({not_a_gpu(device), all_floats(w), other_head_dims(w), contiguous(w),
                     other_scores(w), no_room(plan, device, "its stage"), too_many_keys(w),
                     too_many_ctas(w, plan)});
}

}  // namespace
}  // namespace raceline::kernels::splitkv

RACELINE_KERNEL(splitkv, record_of<Functions<layout_of, reason, form_of>>(
                             "one query token; keys split over CTAs, partial answers merged", rung))

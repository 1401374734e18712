// SPDX-License-Identifier: Apache-2.0
// The record of mla_tensor, and what its main launch does.
// Provenance of the numbers below: code. They are counted in the source and in the machine code, as
// is said in counts.hpp, but for sm_90a.
#include "ladder/decode/mla_tensor/mla_tensor.hpp"

#include <algorithm>
#include <cmath>

#include "device/device.hpp"
#include "ladder/decode/reasons.hpp"
#include "ladder/decode/record.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::mla_tensor {

constexpr Rung rung{
    .track = "decode",
    .predecessor = "mla",
    .changes =
        "both products on Hopper's matrix engine, 64 heads as their rows (which takes the latent "
        "in swizzled slabs, copied one tile ahead, and two warpgroups that divide keys and "
        "columns)",
    .evidence =
        "HGMMA: 36 steps of 16 columns for the scores, four of 16 keys for the values, from the "
        "same bytes of shared memory; LDGSTS of the next tile before them",
};

using namespace decode;

namespace {

constexpr Code scores_code{757, 1794};  // the copies of the next tile stand behind the products
constexpr Code softmax_code{270, 337 + 29 + 2 * 24 + 2 * 18};
constexpr Code values_code{56, 122 + 29};

// The products of 64 heads, also past the last one.
std::vector<Step> steps_of(const Form& f, double keys, double left_bytes) {
    constexpr double heads = most_heads, half_bytes = 2;
    const double tile_bytes = tile_keys * f.kv_bytes;
    const double tiles = std::ceil(keys / tile_keys);
    const double copied = std::min<double>(keys, tile_keys) * f.kv_bytes;  // of a tile
    const double pages = f.paged ? 9.0 * warps * line : 0;                 // places looked up
    return {{"setup",
             1,
             {{"op.issue", threads * f.setup.instructions},
              {"byte.smem_lsu", tile_bytes},
              {"byte.l2", f.cta_rows * f.q_bytes}},
             "latency.dram",
             f.setup.clocks},
            // The first tile comes with Q; those after it while the one before is multiplied.
            {"scores",
             tiles,
             {{"flop.wgmma.fp16", 2 * heads * tile_keys * width},
              // Both warpgroups read Q, and each its keys.
              {"byte.smem_mma", 2 * heads * f.q_bytes + tile_bytes},
              {"byte.smem_lsu", tile_bytes + pages},
              {"op.issue", threads * scores_code.instructions},
              {"byte.l2", copied},
              {"byte.dram_read", copied / f.readers}},
             "",
             scores_code.clocks},
            {"softmax",
             tiles,
             {{"op.ex2", heads * tile_keys + 2.0 * threads},
              {"op.issue", threads * softmax_code.instructions},
              {"byte.smem_lsu", threads * 2 * 8.0 + warps * 4 * line}},
             "",
             softmax_code.clocks},
            {"values",
             tiles,
             {{"flop.wgmma.fp16", 2 * heads * tile_keys * latent},
              {"byte.smem_mma", tile_keys * latent * half_bytes},
              {"op.issue", threads * values_code.instructions},
              {"byte.smem_lsu", threads * 2 * 32.0}},
             "",
             values_code.clocks},
            {"finish",
             1,
             {{"op.issue", threads * f.finish.instructions}, {"byte.l2", left_bytes}},
             "",
             f.finish.clocks}};
}

Form form_of(const Workload& w) {
    Form f = mla::form_of(w);
    f.cta_rows = static_cast<double>(std::min<std::int64_t>(w.heads_q, most_heads));
    f.readers = std::ceil(static_cast<double>(w.heads_q) / most_heads);
    f.setup = {1154, 2646};
    f.finish = {340, 900};  // as parts or as rows: one of the two
    f.registers = 204;
    f.bytes_in_flight = tile_keys * f.kv_bytes;
    // The tile that is on its way, beside products and softmax.
    f.overlap = {{"flop.wgmma.fp16", "byte.smem_mma", "byte.smem_lsu", "byte.l2", "byte.dram_read",
                  "op.issue"},
                 {"op.ex2", "op.issue", "byte.smem_lsu", "byte.l2", "byte.dram_read"}};
    f.steps = steps_of;
    return f;
}

std::string not_hopper(const Device& device) {
    const int capability = device.compute_capability;
    return device.kind != DeviceKind::cuda || capability == 90
               ? ""
               : "it is written for wgmma, compute capability 9.0, not " +
                     std::to_string(capability / 10) + '.' + std::to_string(capability % 10);
}

std::string reason(const Workload& w, const Plan& plan, const Device& device) {
    constexpr std::int64_t most = 65535;  // of a grid's y; x has 31 bits
    const bool fits = w.batch <= most && plan.groups * plan.splits <= (1 << 30);
    return first_of({not_a_gpu(device), not_hopper(device), mla::other_calls(w),
                     no_room(plan, device, "it"), too_many_keys(w),
                     fits ? "" : "it takes up to 65535 sequences and 2^30 CTAs"});
}

}  // namespace
}  // namespace raceline::kernels::mla_tensor

RACELINE_KERNEL(mla_tensor, record_of<Functions<layout_of, reason, form_of>>(
                                "mla with both products by wgmma, heads as rows", rung,
                                tracks::half_precision, tiles))

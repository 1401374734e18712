// SPDX-License-Identifier: Apache-2.0
// Forward attention for Hopper: copies by TMA, products by wgmma, roles by warpgroup.
#include <string>

#include "kernels/prefill_sm90/counts.hpp"
#include "kernels/prefill_sm90/f16_counts.hpp"
#include "registry/kernel.hpp"
#include "registry/why_not.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    for (const std::string& reason : {why_not_hopper(device), why_not_16_bits(w),
                                      why_not_contiguous(w), why_not_head_dims(w, tiles, tile)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    if (w.softcap > 0 && !caps(tile)) {
        return "another tile of these head dims is the one compiled with a softcap";
    }
    return why_not_counted(w, tile.rows);
}

// Both products' operands and P are rounded to the storage type; everything else is fp32. P stands
// relative to an old maximum.
Precision precision(const Workload& w) {
    const bool fp16 = w.dtype == DType::fp16;
    const Rounding stored = fp16 ? Rounding::fp16 : Rounding::bf16;
    return {stored, Rounding::fp32,
            stored, Rounding::fp32_rz,
            stored, scale_of_older_base(fp16 ? 10 : 7)};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return schedule::workspace_bytes;
}

const KernelRecord<Tile> record{
    .name = "prefill_sm90",
    .summary = "forward for Hopper: TMA, wgmma, specialised warpgroups; bf16 and fp16",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .functions = {supports, counts, precision, workspace},
};

}  // namespace
}  // namespace raceline::kernels::prefill_sm90

RACELINE_KERNEL(prefill_sm90, raceline::kernels::prefill_sm90::record)

// SPDX-License-Identifier: Apache-2.0
// Forward attention for Hopper: copies by TMA, products by wgmma, roles by warpgroup.
#include <cstdint>
#include <string>

#include "kernels/prefill_sm90/counts.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_sm90 {
namespace {

constexpr std::int64_t granule = 8;  // elements of 16 bytes, what the copy engine strides by

std::string why_not_asked(const Workload& w) {
    if ((w.dtype != DType::bf16 && w.dtype != DType::fp16) || w.kv_dtype != w.dtype) {
        return std::string("it takes Q, K and V all in bf16 or all in fp16, not ") +
               name_of(w.dtype) + " and " + name_of(w.kv_dtype);
    }
    if (w.page_size > 0) {
        return "it takes keys and values in one piece, not in pages";
    }
    if (w.mla) {
        return "it takes K and V apart, not one latent cache";
    }
    if (!(w.scale_value() > 0)) {
        return "scale " + std::to_string(w.scale_value()) + " is not positive";
    }
    if (w.seqlen_q > longest_length || w.seqlen_k > longest_length) {
        return "it counts rows and keys up to 2^29";
    }
    return {};
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda || device.compute_capability != 90) {
        return "it needs a Hopper GPU (compute capability 9.0)";
    }
    if (const std::string reason = why_not_asked(w); !reason.empty()) {
        return reason;
    }
    if (w.headdim % granule != 0 || w.headdim_v % granule != 0) {
        return "head dims " + std::to_string(w.headdim) + " and " + std::to_string(w.headdim_v) +
               " must be multiples of 8";
    }
    const Widths widths = widths_for(w.headdim, w.headdim_v);
    if (widths.headdim == 0) {
        return "head dims " + std::to_string(w.headdim) + " and " + std::to_string(w.headdim_v) +
               " are over 256";
    }
    if (widths != Widths{tile.headdim, tile.headdim_v}) {
        return "tiles of head dims " + std::to_string(widths.headdim) + " and " +
               std::to_string(widths.headdim_v) + " serve head dims " + std::to_string(w.headdim) +
               " and " + std::to_string(w.headdim_v);
    }
    if (w.softcap > 0 && !caps(tile)) {
        return "another tile of these head dims is the one compiled with a softcap";
    }
    if (item_count(shape_of(w), tile) > most_items) {
        return "it counts tiles of rows in 31 bits";
    }
    return {};
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
    return workspace_bytes;
}

const KernelRecord<Tile> record{
    .name = "prefill_sm90",
    .summary = "forward for Hopper: TMA, wgmma, specialised warpgroups; bf16 and fp16",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
};

}  // namespace
}  // namespace raceline::kernels::prefill_sm90

RACELINE_KERNEL(prefill_sm90, raceline::kernels::prefill_sm90::record)

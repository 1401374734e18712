// SPDX-License-Identifier: Apache-2.0
// Forward attention for any GPU since Ampere: copies by cp.async, products by mma.sync.
#include <cstdint>
#include <string>

#include "kernels/prefill_mma/counts.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

constexpr std::int64_t granule = 8;  // elements of 16 bytes, what one copy moves

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

std::string why_not_tiled(const Workload& w, const Tile& tile) {
    const std::string dims =
        "head dims " + std::to_string(w.headdim) + " and " + std::to_string(w.headdim_v);
    if (w.headdim % granule != 0 || w.headdim_v % granule != 0) {
        return dims + " must be multiples of 8";
    }
    const Widths widths = widths_for(w.headdim, w.headdim_v);
    if (widths.headdim == 0) {
        return dims + " are over 256";
    }
    if (widths != Widths{tile.headdim, tile.headdim_v}) {
        return "tiles of head dims " + std::to_string(widths.headdim) + " and " +
               std::to_string(widths.headdim_v) + " serve " + dims;
    }
    return {};
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda || device.compute_capability < 80) {
        return "it needs an NVIDIA GPU of compute capability 8.0 or later";
    }
    if (const std::string reason = why_not_asked(w); !reason.empty()) {
        return reason;
    }
    const std::string rate = std::string("flop.mma.") + name_of(w.dtype);
    if (!device.find(rate)) {
        return "the rate " + rate + " of this device is not known, so its time cannot be predicted";
    }
    if (const std::string reason = why_not_tiled(w, tile); !reason.empty()) {
        return reason;
    }
    if (all_shared_bytes(tile) > device.smem_bytes_per_cta) {
        return "this tile takes " + std::to_string(all_shared_bytes(tile)) +
               " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
    }
    if (item_count(shape_of(w), tile) > most_items) {
        return "it counts tiles of rows in 31 bits";
    }
    return {};
}

// Both products' operands and P are rounded to the storage type; everything else is fp32.
Precision precision(const Workload& w) {
    const Rounding stored = w.dtype == DType::fp16 ? Rounding::fp16 : Rounding::bf16;
    return {stored, Rounding::fp32, stored, Rounding::fp32_rz, stored};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

const KernelRecord<Tile> record{
    .name = "prefill_mma",
    .summary = "forward for any GPU since Ampere: cp.async, mma.sync; bf16 and fp16",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
};

}  // namespace
}  // namespace raceline::kernels::prefill_mma

RACELINE_KERNEL(prefill_mma, raceline::kernels::prefill_mma::record)

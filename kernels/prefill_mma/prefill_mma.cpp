// SPDX-License-Identifier: Apache-2.0
// Forward attention for any GPU since Ampere: copies by cp.async, products by mma.sync.
#include <string>

#include "kernels/prefill_mma/counts.hpp"
#include "registry/kernel.hpp"
#include "registry/why_not.hpp"

namespace raceline::kernels::prefill_mma {
namespace {

std::string why_not_timed(const Workload& w, const Device& device) {
    const std::string rate = std::string("flop.mma.") + name_of(w.dtype);
    return device.find(rate) ? ""
                             : "the rate " + rate +
                                   " of this device is not known, so its time cannot be predicted";
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda || device.compute_capability < 80) {
        return "it needs an NVIDIA GPU of compute capability 8.0 or later";
    }
    for (const std::string& reason :
         {why_not_16_bits(w), why_not_contiguous(w), why_not_timed(w, device),
          why_not_head_dims(w, tiles, tile)}) {
        if (!reason.empty()) {
            return reason;
        }
    }
    if (all_shared_bytes(tile) > device.smem_bytes_per_cta) {
        return "this tile takes " + std::to_string(all_shared_bytes(tile)) +
               " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
    }
    return why_not_counted(w, tile.rows);
}

// Both products' operands and P are rounded to the storage type; everything else is fp32.
Precision precision(const Workload& w) {
    const Rounding stored = rounding_of(w.dtype);
    return {stored, Rounding::fp32, stored, Rounding::fp32_rz, stored};
}

}  // namespace
}  // namespace raceline::kernels::prefill_mma

RACELINE_KERNEL(prefill_mma,
                record_of("forward for any GPU since Ampere: cp.async, mma.sync; bf16 and fp16",
                          Engine::cuda, tiles, {supports, counts, precision, no_workspace}))

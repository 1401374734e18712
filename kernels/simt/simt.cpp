// SPDX-License-Identifier: Apache-2.0
// The plain CUDA kernel that serves every valid call on any GPU.
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/simt/plan.hpp"
#include "kernels/simt/tree_tile.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::simt {
namespace {

bool stored(DType dtype) {
    return dtype != DType::nvfp4;
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if (!stored(w.kv_dtype) || !stored(w.dtype) || w.dtype == DType::e4m3) {
        return std::string("it reads Q in fp32, fp16 or bf16 and K and V also in e4m3, not ") +
               name_of(stored(w.dtype) && w.dtype != DType::e4m3 ? w.kv_dtype : w.dtype);
    }
    const Plan plan = make_plan(w, tile, device);
    if (plan.v_width == 0) {
        return "V's head dim " + std::to_string(w.headdim_v) + " is over 512";
    }
    if (!compiled(tile, plan.v_width)) {
        return "V's head dim " + std::to_string(w.headdim_v) + " needs a tile of fewer rows";
    }
    if (plan.smem_bytes > device.smem_bytes_per_cta) {
        return "head dim " + std::to_string(w.headdim) + " takes " +
               std::to_string(plan.smem_bytes) + " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
    }
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (plan.ctas > most || plan.total_rows > most || w.seqlen_q * w.group() > most ||
        w.seqlen_k > most) {
        return "it counts rows, keys and CTAs in 31 bits";
    }
    return {};
}

// Everything between load and store is fp32.
Precision precision(const Workload& w) {
    const Rounding output = rounding_of(w.dtype);
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, output};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(w, tile, device).workspace_bytes;
}

}  // namespace
}  // namespace raceline::kernels::simt

namespace raceline::kernels::simt_tree {
namespace {

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (w.tree == 0) {
        return "it takes calls with a tree of new tokens alone: simt takes the others";
    }
    std::string reason = simt::supports(w, tile, device);
    if (reason.empty() && !simt_tree::compiled(tile, simt::make_plan(w, tile, device).v_width)) {
        reason = "V's head dim " + std::to_string(w.headdim_v) + " needs a tile of fewer rows";
    }
    return reason;
}

}  // namespace
}  // namespace raceline::kernels::simt_tree

RACELINE_KERNEL(simt,
                record_of("plain CUDA cores, any GPU, every option; split keys when rows are few",
                          Engine::cuda, tiles, {supports, counts, precision, workspace}))
RACELINE_CALL_KERNEL(
    simt_tree,
    with_trees(record_of("simt for trees of speculated tokens: any GPU, every format", Engine::cuda,
                         tiles, {supports, simt::counts, simt::precision, simt::workspace})))

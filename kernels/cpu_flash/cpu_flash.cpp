// SPDX-License-Identifier: Apache-2.0
// The record of cpu_flash: blocked online softmax on SIMD and OpenMP, prefill and decode.
#include <fmt/format.h>

#include "kernels/cpu_flash/plan.hpp"
#include "kernels/cpu_flash/scratch.hpp"
#include "kernels/cpu_flash/tile.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::cpu_flash {
namespace {

bool stored(DType type) {
    return type == DType::fp32 || type == DType::fp16 || type == DType::bf16;
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cpu) {
        return fmt::format("it runs on CPUs, not on {}", device.id);
    }
    if (w.headdim < 1 || w.headdim > kHeaddimMost) {
        return fmt::format("head dim {} is not between 1 and {}", w.headdim, kHeaddimMost);
    }
    if (w.headdim_v < 1 || w.headdim_v > kHeaddimMost) {
        return fmt::format("V's head dim {} is not between 1 and {}", w.headdim_v, kHeaddimMost);
    }
    if (!stored(w.dtype)) {
        return fmt::format("queries of type {} are not read; fp32, fp16 and bf16 are",
                           name_of(w.dtype));
    }
    if (!stored(w.kv_dtype) && w.kv_dtype != DType::e4m3) {
        return fmt::format("a cache of type {} is not read; fp32, fp16, bf16 and e4m3 are",
                           name_of(w.kv_dtype));
    }
    // Decode splits keys alone: one tile stands for all, the tuner need not try the others.
    if (is_decode(w.seqlen_q, w.group()) && tile != kTiles[0]) {
        return "decode does not depend on the tile; only the first one is offered";
    }
    // In fp32 the model prefers it, and it took 63.6 ms where 96 keys took 61.2 (8 heads of 128,
    // 2048 tokens).
    if (tile == kTileOfAmx &&
        products_on(types_of(w), device.has_bf16_dot, device.has_bf16_tiles) != Products::tiles) {
        return "512 rows by 192 keys are for products of AMX tiles, in bf16 on a CPU that has them";
    }
    return {};
}

Precision precision(const Workload& w) {
    const bool dot = products_of(types_of(w)) != Products::floats;
    const Rounding output = rounding_of(w.dtype);
    const Rounding operand = dot ? Rounding::bf16 : Rounding::fp32;
    // P is rounded for products of bf16 alone. It stands relative to a base that may
    // lag behind the row's maximum (kPeakSlack).
    return {operand,        Rounding::fp32, operand,
            Rounding::fp32, output,         dot ? scale_of_older_base(7) : 1};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
    TaskProblem p{problem_of(w)};
    p.lengths.longest_q = w.seqlen_q;
    p.lengths.longest_k = w.seqlen_k;
    const WorkspaceLayout layout(p, tile, std::max(1, device.units));
    return static_cast<std::size_t>(layout.total) * sizeof(float);
}

}  // namespace
}  // namespace raceline::kernels::cpu_flash

RACELINE_CALL_KERNEL(cpu_flash,
                     with_token_scales(with_trees(record_of(
                         "blocked online softmax for CPUs: prefill and decode, every option",
                         Engine::cpu, kTiles, {supports, counts, precision, workspace}))))

// SPDX-License-Identifier: Apache-2.0
// The record of mla_tensor, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ladder/mla_tensor/tile.hpp"

namespace raceline::kernels::mla_tensor {
namespace {

Plan plan_of(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(w.batch, w.heads_q, w.seqlen_k, tile, device);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if (device.compute_capability != 90) {
        return "it is written for wgmma, compute capability 9.0, not " +
               std::to_string(device.compute_capability / 10) + '.' +
               std::to_string(device.compute_capability % 10);
    }
    if (w.dtype != DType::fp16 || w.kv_dtype != w.dtype) {
        return std::string("it reads Q and the latent in fp16, not ") + name_of(w.dtype) + " and " +
               name_of(w.kv_dtype);
    }
    if (!w.mla || w.headdim != width || w.headdim_v != latent) {
        return "it takes a latent of 512 + 64 columns";
    }
    if (!w.seqlens_q.empty() || (w.ragged() && w.page_size == 0)) {
        return "it takes sequences of different lengths in pages only, with one query token each";
    }
    if ((w.page_size & (w.page_size - 1)) != 0) {
        return "it takes pages of a power of two tokens, not " + std::to_string(w.page_size);
    }
    if (w.seqlen_q != 1) {
        return "it answers one query token a sequence, not " + std::to_string(w.seqlen_q);
    }
    if (w.window || w.softcap != 0 || w.sinks) {
        return "it knows no window, softcap or sinks";
    }
    if (smem_bytes > device.smem_bytes_per_cta) {
        return "it takes " + std::to_string(smem_bytes) +
               " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
    }
    if (w.seqlen_k > (1 << 30)) {
        return "it counts keys in 31 bits";
    }
    constexpr std::int64_t most = 65535;  // of a grid's y; x has 31 bits
    if (w.batch > most || plan_of(w, tile, device).ctas > (1 << 30)) {
        return "it takes up to 65535 sequences and 2^30 CTAs";
    }
    return {};
}

// fp16 operands, P among them; sums in the tensor core's fp32.
Precision precision(const Workload&) {
    return {Rounding::fp16, Rounding::fp32, Rounding::fp16, Rounding::fp32_rz, Rounding::fp16};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
    return plan_of(w, tile, device).workspace_bytes;
}

// Of one warp, read from the machine code for sm_90a (nvdisasm). Clocks are the compiler's stall
// counts and what it can only wait for: shared memory 29 (arXiv 2402.13499, H100); shuffles 24 and
// special functions 18 are assumed, no source for Hopper was at hand.
struct Code {
    double instructions, clocks;
};
constexpr Code scores_code{757, 1794};  // the copies of the next tile stand behind the products
constexpr Code softmax_code{270, 337 + 29 + 2 * 24 + 2 * 18};
constexpr Code values_code{56, 122 + 29};
constexpr Code setup_code{1154, 2646};
constexpr Code finish_code{340, 900};           // as parts or as rows: one of the two
constexpr Code merge_group{130, 260 + 4 * 18};  // two parts
constexpr Code merge_ends{270, 560};
constexpr double merge_one = 56;  // of another warp's part

constexpr double line = 128;  // bytes of one pass through shared memory; a shuffle takes one, too
constexpr double lanes = 32;
constexpr double half_bytes = 2;
constexpr double row_bytes = width * half_bytes;  // of a key, which is also its value
constexpr double tile_bytes = tile_keys * row_bytes;
constexpr double part = part_floats * sizeof(float);
constexpr double heads = most_heads;  // rows of the products, also those past the last head

std::vector<Step> steps_of(const Workload& w, const Plan& plan, double keys, double left_bytes) {
    const double tiles = std::ceil(keys / tile_keys);
    const double copied = std::min<double>(keys, tile_keys) * row_bytes;  // of a tile
    const double pages = w.page_size > 0 ? 9.0 * warps * line : 0;        // places looked up
    return {{"setup",
             1,
             {{"op.issue", threads * setup_code.instructions},
              {"byte.smem_lsu", tile_bytes},
              {"byte.l2", std::min<double>(static_cast<double>(w.heads_q), heads) * row_bytes}},
             "latency.dram",
             setup_code.clocks},
            // The first tile comes with Q; those after it while the one before is multiplied.
            {"scores",
             tiles,
             {{"flop.wgmma.fp16", 2 * heads * tile_keys * width},
              // Both warpgroups read Q, and each its keys.
              {"byte.smem_mma", 2 * heads * row_bytes + tile_bytes},
              {"byte.smem_lsu", tile_bytes + pages},
              {"op.issue", threads * scores_code.instructions},
              {"byte.l2", copied},
              {"byte.dram_read", copied / static_cast<double>(plan.head_blocks)}},
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
             {{"op.issue", threads * finish_code.instructions}, {"byte.l2", left_bytes}},
             "",
             finish_code.clocks}};
}

void add_steps(Work& work, const std::vector<Step>& steps, double ctas) {
    for (const Step& step : steps) {
        for (const auto& [id, amount] : step.work) {
            work[id] += step.repeat * amount * ctas;
        }
    }
}

Counts partial_launch(const Workload& w, const Plan& plan) {
    const auto splits = static_cast<double>(plan.splits);
    const double left = std::min<double>(static_cast<double>(w.heads_q), heads) *
                        (splits > 1 ? part : latent * half_bytes);
    Counts c;
    c.launch = "partial";
    c.ctas = plan.ctas;
    c.steps = steps_of(w, plan, static_cast<double>(plan.keys), left);
    // Of each sequence: splits of plan.keys keys, one with what is left, and empty ones.
    const auto blocks = static_cast<double>(plan.head_blocks);
    double pages = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto keys = static_cast<double>(w.length_k(b));
        const double full = std::floor(keys / std::max(1.0, static_cast<double>(plan.keys)));
        const double rest = keys - full * static_cast<double>(plan.keys);
        add_steps(c.work, c.steps, blocks * full);
        add_steps(c.work, steps_of(w, plan, rest, left), blocks * (rest > 0 ? 1 : 0));
        add_steps(c.work, steps_of(w, plan, 0, left),
                  blocks * (splits - full - (rest > 0 ? 1 : 0)));
        pages += w.page_size > 0 ? std::ceil(keys / static_cast<double>(w.page_size)) : 0;
    }
    c.imbalance = std::max(1.0, static_cast<double>(plan.keys * plan.splits * w.batch) /
                                    std::max(1.0, static_cast<double>(w.tokens_k())));
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() + pages * sizeof(std::int32_t);
    c.work["byte.dram_write"] =
        splits > 1 ? 0 : w.bytes_out() + static_cast<double>(plan.rows) * sizeof(float);
    c.reread.push_back({(splits - 1) * w.bytes_q(), w.bytes_q()});
    c.reread.push_back({(blocks - 1) * w.bytes_kv(), w.bytes_kv()});
    c.threads = threads;
    c.registers = 204;  // a test compares with the compiler
    c.smem_bytes = smem_bytes;
    c.bytes_in_flight = tile_bytes;
    // The tile that is on its way, beside products and softmax.
    c.overlap = {{"flop.wgmma.fp16", "byte.smem_mma", "byte.smem_lsu", "byte.l2", "byte.dram_read",
                  "op.issue"},
                 {"op.ex2", "op.issue", "byte.smem_lsu", "byte.l2", "byte.dram_read"}};
    return c;
}

Counts merge_launch(const Workload& w, const Plan& plan) {
    const double groups = std::ceil(static_cast<double>(plan.splits) / (2 * warps));
    Counts c;
    c.launch = "merge";
    c.ctas = plan.rows;
    c.threads = threads;
    c.registers = 58;
    c.smem_bytes = warps * static_cast<std::int64_t>(part);
    c.bytes_in_flight = 2 * warps * part;
    // Two parts of each warp, read from the L2, where they were written a moment ago.
    c.steps = {{"parts",
                groups,
                {{"op.issue", threads * merge_group.instructions},
                 {"op.ex2", threads * 4.0},
                 {"flop.fma.fp32", 2 * warps * 3.0 * latent},
                 {"byte.l2", 2 * warps * part}},
                "latency.l2",
                merge_group.clocks},
               {"ends",
                1,
                {{"op.issue", lanes * (merge_ends.instructions + (warps - 1) * merge_one)},
                 {"byte.smem_lsu", 2 * warps * part},
                 {"byte.l2", latent * half_bytes}},
                "",
                merge_ends.clocks + (warps - 1) * 2 * merge_one}};
    add_steps(c.work, c.steps, static_cast<double>(plan.rows));
    c.work["byte.dram_write"] = w.bytes_out() + static_cast<double>(plan.rows) * sizeof(float);
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = plan_of(w, tile, device);
    std::vector<Counts> launches{partial_launch(w, plan)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(w, plan));
    }
    return launches;
}

constexpr Rung rung{
    .track = "decode",
    .predecessor = "mla",
    .changes =
        "both products on Hopper's matrix engine, 64 heads as their rows (which takes the latent "
        "in "
        "swizzled slabs, copied one tile ahead, and two warpgroups that divide keys and columns)",
    .evidence =
        "HGMMA: 36 steps of 16 columns for the scores, four of 16 keys for the values, from the "
        "same bytes of shared memory; LDGSTS of the next tile before them",
};

const KernelRecord<Tile> record{
    .name = "mla_tensor",
    .summary = "mla with both products by wgmma, heads as rows",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::mla_tensor

RACELINE_KERNEL(mla_tensor, raceline::kernels::mla_tensor::record)

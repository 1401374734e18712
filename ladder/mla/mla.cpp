// SPDX-License-Identifier: Apache-2.0
// The record of mla, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ladder/mla/tile.hpp"

namespace raceline::kernels::mla {
namespace {

Plan plan_of(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(w.batch, w.heads_q, w.seqlen_k, tile, device);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
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
    if (stage_bytes > device.smem_bytes_per_cta) {
        return "its stage takes " + std::to_string(stage_bytes) +
               " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
    }
    if (w.seqlen_k > (1 << 30)) {
        return "it counts keys in 31 bits";
    }
    constexpr std::int64_t most = 65535;  // of a grid's y and z
    if (w.batch > most || plan_of(w, tile, device).splits > most) {
        return "it takes up to 65535 sequences and splits";
    }
    return {};
}

Precision precision(const Workload&) {
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp16};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
    return plan_of(w, tile, device).workspace_bytes;
}

// Of one warp, read from the machine code for sm_90 (nvdisasm). Clocks are the compiler's stall
// counts and what it can only wait for: shared memory 29 (arXiv 2402.13499, H100); shuffles 24 and
// special functions 18 are assumed, no source for Hopper was at hand.
struct Code {
    double instructions, clocks;
};
// One key: 18 columns, converted once; of every row 18 multiply-adds, five shuffles, two
// exponentials and the merge of 16 outputs.
constexpr Code key_code(double rows) {
    constexpr double waits = 29 + 5 * 24 + 18;
    return {46 + 68 * rows, 180 + 82 * rows + waits};
}
constexpr Code stage_batch{150, 300 + 29};  // of six loads a thread, six places looked up
constexpr double table_clocks = 41;         // the table's entries, found in L1 (arXiv 2402.13499)
constexpr Code tile_code{20, 60};           // the barriers and what stands before the loops
constexpr Code setup_code(double rows) {    // Q as floats
    return {100 + 62 * rows, 260 + 110 * rows};
}
// A warp leaves its rows in shared memory, then merges and writes those of the CTA in turn.
constexpr Code finish_code(double rows, double rows_merged, double key_warps) {
    const double each = 130 + 60 * key_warps;
    return {20 + 12 * rows + each * rows_merged,
            90 + 24 * rows + (330 + 140 * key_warps) * rows_merged};
}
constexpr Code merge_group{130, 260 + 4 * 18};  // two parts
constexpr Code merge_ends{270, 560};
constexpr double merge_one = 56;  // of another warp's part

constexpr double line = 128;  // bytes of one pass through shared memory; a shuffle takes one, too
constexpr double lanes = 32;
constexpr double half_bytes = 2;
constexpr double row_bytes = width * half_bytes;    // of a key, which is also its value
constexpr double batch_bytes = threads * 6 * 16.0;  // of a stage's loads that are under way at once
constexpr double part = part_floats * sizeof(float);

struct Sizes {
    double rows, heads;        // heads: of a CTA
    double packed, key_warps;  // rows of a warp; warps that divide the keys
    bool paged;
};
Sizes sizes_of(const Workload& w) {
    const Packing packing = packing_of(w.heads_q);
    const int key_warps = warps / packing.row_warps;
    return {static_cast<double>(w.batch * w.heads_q),
            static_cast<double>(std::min<std::int64_t>(w.heads_q, most_heads)),
            static_cast<double>(packing.rows), static_cast<double>(key_warps), w.page_size > 0};
}

// Batches of loads that bring `keys` keys: whole tiles, then what is left.
double stage_batches(double keys) {
    const double rows = batch_bytes / row_bytes;  // of a batch
    const double full = std::floor(keys / tile_keys);
    return full * tile_keys / rows + std::ceil((keys - full * tile_keys) / rows);
}

std::vector<Step> steps_of(const Sizes& z, double keys, double left_bytes) {
    const double tiles = std::ceil(keys / tile_keys);
    const double batches = stage_batches(keys);
    const double rounds = std::ceil(keys / z.key_warps);  // of all warps, a key each
    const Code key = key_code(z.packed);
    const Code setup = setup_code(z.packed);
    const Code finish = finish_code(z.packed, std::ceil(z.heads / warps), z.key_warps);
    return {
        {"setup",
         1,
         {{"op.issue", threads * setup.instructions}, {"byte.l2", z.heads * row_bytes}},
         "latency.dram",
         setup.clocks},
        {"tiles", tiles, {{"op.issue", threads * tile_code.instructions}}, "", tile_code.clocks},
        {"stage",
         batches,
         {{"op.issue", threads * stage_batch.instructions},
          {"byte.smem_lsu", batch_bytes + (z.paged ? 6 * warps * line : 0)},
          {"byte.l2", keys * row_bytes / std::max(1.0, batches)}},
         "latency.dram",
         stage_batch.clocks + (z.paged ? table_clocks : 0)},
        // The first look into the table; a line of it then serves 32 pages.
        {"table", z.paged ? 1.0 : 0.0, {{"byte.l2", line}}, "latency.dram", 0},
        {"keys",
         rounds,
         {{"op.issue", threads * key.instructions},
          {"flop.fma.fp32", warps * z.packed * (2 * width + 3 * latent)},
          {"op.ex2", warps * z.packed * 2 * lanes},
          {"byte.smem_lsu", warps * (row_bytes + z.packed * 5 * line)}},
         "",
         key.clocks},
        {"finish",
         1,
         {{"op.issue", threads * finish.instructions},
          {"byte.smem_lsu", (warps * z.packed + z.key_warps * z.heads) * part},
          {"byte.l2", left_bytes}},
         "",
         finish.clocks}};
}

void add_steps(Work& work, const std::vector<Step>& steps, double ctas) {
    for (const Step& step : steps) {
        for (const auto& [id, amount] : step.work) {
            work[id] += step.repeat * amount * ctas;
        }
    }
}

// Of the main launch, as the compiler reports them for sm_90; a test compares.
int registers_of(const Workload& w) {
    const int rows = packing_of(w.heads_q).rows;
    return rows == 1 ? 94 : rows == 2 ? 122 : 202;
}

Counts partial_launch(const Workload& w, const Plan& plan) {
    const Sizes z = sizes_of(w);
    const auto splits = static_cast<double>(plan.splits);
    const double left = z.heads * (splits > 1 ? part : latent * half_bytes);
    Counts c;
    c.launch = "partial";
    c.ctas = plan.groups * plan.splits;
    c.steps = steps_of(z, static_cast<double>(plan.keys), left);
    // Of each sequence: splits of plan.keys keys, one with what is left, and empty ones.
    const auto blocks = static_cast<double>(plan.head_blocks);
    double pages = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto keys = static_cast<double>(w.length_k(b));
        const double full = std::floor(keys / std::max(1.0, static_cast<double>(plan.keys)));
        const double rest = keys - full * static_cast<double>(plan.keys);
        add_steps(c.work, c.steps, blocks * full);
        add_steps(c.work, steps_of(z, rest, left), blocks * (rest > 0 ? 1 : 0));
        add_steps(c.work, steps_of(z, 0, left), blocks * (splits - full - (rest > 0 ? 1 : 0)));
        pages += z.paged ? std::ceil(keys / static_cast<double>(w.page_size)) : 0;
    }
    c.imbalance = std::max(1.0, static_cast<double>(plan.keys * plan.splits * w.batch) /
                                    std::max(1.0, static_cast<double>(w.tokens_k())));
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() + pages * sizeof(std::int32_t);
    c.work["byte.dram_write"] = splits > 1 ? 0 : w.bytes_out() + z.rows * sizeof(float);
    c.reread.push_back({(splits - 1) * w.bytes_q(), w.bytes_q()});
    c.reread.push_back({(blocks - 1) * w.bytes_kv(), w.bytes_kv()});
    c.threads = threads;
    c.registers = registers_of(w);
    c.smem_bytes = stage_bytes;
    c.bytes_in_flight = batch_bytes;
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

Counts merge_launch(const Workload& w, const Plan& plan) {
    const Sizes z = sizes_of(w);
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
    add_steps(c.work, c.steps, z.rows);
    c.work["byte.dram_write"] = w.bytes_out() + z.rows * sizeof(float);
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
    .predecessor = "gqa",
    .changes =
        "one latent of 512 + 64 columns for up to 128 query heads, whose 512 columns are K and V "
        "at "
        "once (which takes rows of 18 columns a lane, so that a warp holds four and a CTA 32 "
        "heads)",
    .evidence =
        "the latent is read once a CTA, and once a warp from shared memory: three loads a key that "
        "serve both products",
};

const KernelRecord<Tile> record{
    .name = "mla",
    .summary = "gqa on a latent that all heads share and that is key and value",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::mla

RACELINE_KERNEL(mla, raceline::kernels::mla::record)

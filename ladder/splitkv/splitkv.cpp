// SPDX-License-Identifier: Apache-2.0
// The decode ladder's first rung: the record, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <cmath>
#include <string>
#include <vector>

#include "ladder/splitkv/tile.hpp"

namespace raceline::kernels::splitkv {
namespace {

Plan plan_of(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(w.batch, w.heads_q, w.seqlen_k, static_cast<int>(w.headdim), tile, device);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if ((w.dtype != DType::fp32 && w.dtype != DType::fp16) || w.kv_dtype != w.dtype) {
        return std::string("it reads Q, K and V all in fp32 or all in fp16, not ") +
               name_of(w.dtype) + " and " + name_of(w.kv_dtype);
    }
    if ((w.headdim != 64 && w.headdim != 128) || w.headdim_v != w.headdim || w.mla) {
        return "it takes head dims 64 and 128, the same for V";
    }
    if (w.ragged() || w.page_size > 0) {
        return "it takes contiguous sequences of one length";
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

Precision precision(const Workload& w) {
    const Rounding output = w.dtype == DType::fp16 ? Rounding::fp16 : Rounding::fp32;
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, output};
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
// One key: the dot product and its five shuffles, one after the other; two exponentials, side by
// side; the merge.
Code key_code(bool wide, bool long_row) {
    constexpr double waits = 29 + 5 * 24 + 18;
    const double instructions = wide ? (long_row ? 40 : 34) : (long_row ? 48 : 38);
    const double stalls = wide ? (long_row ? 110 : 100) : (long_row ? 122 : 110);
    return {instructions, stalls + waits};
}
constexpr Code stage_batch{85, 170 + 29};  // of eight loads a thread
constexpr Code tile_code{20, 60};          // the barriers and what stands before the loops
constexpr Code setup_code{107, 480};       // two divisions, addresses
// Warp 0 merges the others and writes; they write to shared memory and are done.
constexpr Code finish_first{120, 420}, finish_others{25, 0};
constexpr Code merge_group{132, 222 + 4 * 18};  // four parts
constexpr Code merge_ends{220, 900};

constexpr double line = 128;  // bytes of one pass through shared memory; a shuffle takes one, too
constexpr double lanes = 32;
constexpr double batch_bytes = threads * 8 * 16.0;  // of a stage's loads that are under way at once

struct Sizes {
    double rows, keys, group, d, element, row_bytes;  // row_bytes: of K and V of one key
};
Sizes sizes_of(const Workload& w) {
    const double element = bytes_of(w.dtype);
    return {static_cast<double>(w.batch * w.heads_q),
            static_cast<double>(w.seqlen_k),
            static_cast<double>(w.group()),
            static_cast<double>(w.headdim),
            element,
            2 * static_cast<double>(w.headdim) * element};
}

double tile_keys_of(const Sizes& z) {
    return tile_keys(static_cast<int>(z.d), static_cast<int>(z.element));
}

// Batches of loads that bring `keys` keys: whole tiles, then what is left.
double stage_batches(const Sizes& z, double keys) {
    const double rows = batch_bytes / z.row_bytes;  // of a batch
    const double full = std::floor(keys / tile_keys_of(z));
    const double rest = keys - full * tile_keys_of(z);
    return full * tile_keys_of(z) / rows + std::ceil(rest / rows);
}

std::vector<Step> steps_of(const Sizes& z, double keys, double left_bytes) {
    const double tiles = std::ceil(keys / tile_keys_of(z));
    const double batches = stage_batches(z, keys);
    const double rounds = std::ceil(keys / warps);  // of all warps, a key each
    const Code key = key_code(z.element == 4, z.d == 128);
    return {
        {"setup",
         1,
         {{"op.issue", threads * setup_code.instructions}, {"byte.l2", z.d * z.element}},
         "latency.dram",
         setup_code.clocks},
        {"tiles", tiles, {{"op.issue", threads * tile_code.instructions}}, "", tile_code.clocks},
        {"stage",
         batches,
         {{"op.issue", threads * stage_batch.instructions},
          {"byte.smem_lsu", batch_bytes},
          {"byte.l2", keys * z.row_bytes / std::max(1.0, batches)}},
         "latency.dram",
         stage_batch.clocks},
        {"keys",
         rounds,
         {{"op.issue", threads * key.instructions},
          {"flop.fma.fp32", warps * 5 * z.d},
          {"op.ex2", warps * 2 * lanes},
          {"byte.smem_lsu", warps * (z.row_bytes + 5 * line)}},
         "",
         key.clocks},
        {"finish",
         1,
         {{"op.issue",
           lanes * (finish_first.instructions + (warps - 1) * finish_others.instructions)},
          {"byte.smem_lsu", 2 * warps * sizeof(float) * part_floats(static_cast<int>(z.d))},
          {"byte.l2", left_bytes}},
         "",
         finish_first.clocks}};
}

void add_steps(Work& work, const std::vector<Step>& steps, double ctas) {
    for (const Step& step : steps) {
        for (const auto& [id, amount] : step.work) {
            work[id] += step.repeat * amount * ctas;
        }
    }
}

Counts partial_launch(const Workload& w, const Plan& plan, const Device& device) {
    const Sizes z = sizes_of(w);
    const auto splits = static_cast<double>(plan.splits);
    const double part = part_floats(static_cast<int>(w.headdim)) * sizeof(float);
    const double left = splits > 1 ? part : z.d * z.element;
    Counts c;
    c.launch = "partial";
    c.ctas = plan.rows * plan.splits;
    // Splits but the last have plan.keys keys.
    const double last = z.keys - (splits - 1) * static_cast<double>(plan.keys);
    c.steps = steps_of(z, static_cast<double>(plan.keys), left);
    add_steps(c.work, c.steps, z.rows * (splits - 1));
    add_steps(c.work, steps_of(z, last, left), z.rows);
    c.imbalance = std::max(1.0, static_cast<double>(plan.keys) * splits / std::max(1.0, z.keys));
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = splits > 1 ? 0 : w.bytes_out() + z.rows * sizeof(float);
    // Each query head reads its KV head for itself; those of a group do so at the same time, so
    // that what must stay in the L2 is what the resident CTAs hold.
    const auto resident = static_cast<double>(device.units * resident_ctas(device) * stage_bytes);
    c.reread.push_back({(z.group - 1) * w.bytes_kv(), std::min(w.bytes_kv(), resident)});
    c.reread.push_back({(splits - 1) * w.bytes_q(), w.bytes_q()});
    c.threads = threads;
    c.registers = w.headdim == 64 ? 60 : 64;
    c.smem_bytes = stage_bytes;
    c.bytes_in_flight = batch_bytes;
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

Counts merge_launch(const Workload& w, const Plan& plan) {
    const Sizes z = sizes_of(w);
    const double part = part_floats(static_cast<int>(w.headdim)) * sizeof(float);
    const double groups = std::ceil(static_cast<double>(plan.splits) / (4 * warps));
    Counts c;
    c.launch = "merge";
    c.ctas = plan.rows;
    c.threads = threads;
    c.registers = 48;
    c.smem_bytes = warps * static_cast<std::int64_t>(part);
    c.bytes_in_flight = 4 * warps * part;
    // Four parts of each warp, read from the L2, where they were written a moment ago.
    c.steps = {{"parts",
                groups,
                {{"op.issue", threads * merge_group.instructions},
                 {"op.ex2", threads * 8.0},
                 {"flop.fma.fp32", 4 * warps * 3 * z.d},
                 {"byte.l2", 4 * warps * part}},
                "latency.l2",
                merge_group.clocks},
               {"ends",
                1,
                {{"op.issue", lanes * (merge_ends.instructions + (warps - 1) * 70)},
                 {"byte.smem_lsu", 2 * warps * part},
                 {"byte.l2", z.d * z.element}},
                "",
                merge_ends.clocks}};
    add_steps(c.work, c.steps, z.rows);
    c.work["byte.dram_write"] = w.bytes_out() + z.rows * sizeof(float);
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Plan plan = plan_of(w, tile, device);
    std::vector<Counts> launches{partial_launch(w, plan, device)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(w, plan));
    }
    return launches;
}

constexpr Rung rung{
    .track = "decode",
    .predecessor = "fused",
    .changes =
        "the keys are split over CTAs, whose partial answers are merged by LSE; with one row "
        "a head the warps of a CTA share its keys",
    .evidence =
        "two launches; CTAs follow the device's SM count; eight 16-byte loads under way; "
        "five shuffles a key",
};

const KernelRecord<Tile> record{
    .name = "splitkv",
    .summary = "one query token; keys split over CTAs, partial answers merged",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::splitkv

RACELINE_KERNEL(splitkv, raceline::kernels::splitkv::record)

// SPDX-License-Identifier: Apache-2.0
// The record of gqa_scorestationary, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ladder/gqa_scorestationary/instructions.hpp"
#include "ladder/gqa_scorestationary/tile.hpp"

namespace raceline::kernels::gqa_scorestationary {
namespace {

Plan plan_of(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(w.batch, w.heads_q, w.heads_kv, w.seqlen_k, static_cast<int>(w.headdim), tile,
                     device);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if (w.dtype != DType::fp16 || w.kv_dtype != w.dtype) {
        return std::string("it reads Q, K and V in fp16, not ") + name_of(w.dtype) + " and " +
               name_of(w.kv_dtype);
    }
    if ((w.headdim != 64 && w.headdim != 128) || w.headdim_v != w.headdim || w.mla) {
        return "it takes head dims 64 and 128, the same for V";
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
    if (w.group() > widest_group) {
        return "it packs up to " + std::to_string(widest_group) + " query heads a KV head, not " +
               std::to_string(w.group());
    }
    if (w.seqlen_k > (1 << 30)) {
        return "it counts keys in 31 bits";
    }
    const std::int64_t smem = plan_of(w, tile, device).smem_bytes;
    if (smem > device.smem_bytes_per_cta) {
        return "it takes " + std::to_string(smem) + " bytes of shared memory; the device has " +
               std::to_string(device.smem_bytes_per_cta);
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

constexpr double line = 128;  // bytes of one pass through shared memory; a shuffle takes one, too
// Sixteen bytes a lane are four passes, two where neighbouring lanes read the same: a pass then
// fills two registers (forums.developer.nvidia.com/t/77228, said of compute capability 7).
constexpr double shared_quad = 2 * line;
constexpr double lanes = 32;
constexpr double batch_bytes = threads * 8 * 16.0;  // of a stage's loads that are under way at once

struct Sizes {
    double rows, group, d, element, row_bytes;  // row_bytes: of K and V of one key
    double packed, key_warps;                   // rows of a warp; warps that divide the keys
    bool paged;
};
Sizes sizes_of(const Workload& w) {
    const double element = bytes_of(w.dtype);
    const Packing packing = packing_of(w.group());
    return {static_cast<double>(w.batch * w.heads_q),
            static_cast<double>(w.group()),
            static_cast<double>(w.headdim),
            element,
            2 * static_cast<double>(w.headdim) * element,
            static_cast<double>(packing.rows),
            static_cast<double>(warps / packing.row_warps),
            w.page_size > 0};
}

double tile_keys_of(const Sizes& z) {
    return tile_keys(static_cast<int>(z.d));
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
    const double rounds = std::ceil(keys / 32 / z.key_warps);  // of all warps, 32 keys each
    const Code block = block_code(z.d, z.packed);
    // Of a warp: K and V once; a row of Q and its probabilities by 16 bytes that are the same for
    // all lanes; probabilities out; shuffles.
    const double smem = 32 * z.row_bytes + z.packed * ((z.d / 4 + 8) * shared_quad + 6 * line);
    const Code setup = setup_code(z.packed);
    const Code finish = finish_code(z.packed, std::ceil(z.group / warps), z.key_warps);
    const double part = part_floats(static_cast<int>(z.d)) * sizeof(float);
    return {
        {"setup",
         1,
         {{"op.issue", threads * setup.instructions}, {"byte.l2", z.group * z.d * z.element}},
         "latency.dram",
         setup.clocks},
        {"tiles", tiles, {{"op.issue", threads * tile_code.instructions}}, "", tile_code.clocks},
        {"stage",
         batches,
         {{"op.issue", threads * stage_batch.instructions},
          {"byte.smem_lsu", batch_bytes + (z.paged ? 4 * warps * line : 0)},
          {"byte.l2", keys * z.row_bytes / std::max(1.0, batches)}},
         "latency.dram",
         stage_batch.clocks + (z.paged ? table_clocks : 0)},
        // The first look into the table; a line of it then serves 32 pages.
        {"table", z.paged ? 1.0 : 0.0, {{"byte.l2", line}}, "latency.dram", 0},
        {"keys",
         rounds,
         {{"op.issue", threads * block.instructions},
          {"flop.fma.fp32", warps * z.packed * (4 * 32 + 1) * z.d},
          {"op.ex2", warps * z.packed * 2 * lanes},
          {"byte.smem_lsu", warps * smem}},
         "",
         block.clocks},
        {"finish",
         1,
         {{"op.issue", threads * finish.instructions},
          {"byte.smem_lsu", (warps * z.packed + z.key_warps * z.group) * part},
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
    const int rows = packing_of(w.group()).rows;
    const int column = rows == 1 ? 0 : rows == 2 ? 1 : rows == 4 ? 2 : 3;
    constexpr std::array<std::array<int, 4>, 2> table{{{72, 74, 98, 126}, {72, 80, 106, 142}}};
    return table.at(w.headdim == 128 ? 1 : 0).at(column);
}

Counts partial_launch(const Workload& w, const Plan& plan) {
    const Sizes z = sizes_of(w);
    const auto splits = static_cast<double>(plan.splits);
    const double part = part_floats(static_cast<int>(w.headdim)) * sizeof(float);
    const double left = z.group * (splits > 1 ? part : z.d * z.element);
    Counts c;
    c.launch = "partial";
    c.ctas = plan.groups * plan.splits;
    c.steps = steps_of(z, static_cast<double>(plan.keys), left);
    // Of each sequence: splits of plan.keys keys, one with what is left, and empty ones.
    const auto heads = static_cast<double>(w.heads_kv);
    double pages = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto keys = static_cast<double>(w.length_k(b));
        const double full = std::floor(keys / std::max(1.0, static_cast<double>(plan.keys)));
        const double rest = keys - full * static_cast<double>(plan.keys);
        add_steps(c.work, c.steps, heads * full);
        add_steps(c.work, steps_of(z, rest, left), heads * (rest > 0 ? 1 : 0));
        add_steps(c.work, steps_of(z, 0, left), heads * (splits - full - (rest > 0 ? 1 : 0)));
        pages += z.paged ? std::ceil(keys / static_cast<double>(w.page_size)) : 0;
    }
    c.imbalance = std::max(1.0, static_cast<double>(plan.keys * plan.splits * w.batch) /
                                    std::max(1.0, static_cast<double>(w.tokens_k())));
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() + pages * sizeof(std::int32_t);
    c.work["byte.dram_write"] = splits > 1 ? 0 : w.bytes_out() + z.rows * sizeof(float);
    c.reread.push_back({(splits - 1) * w.bytes_q(), w.bytes_q()});
    c.threads = threads;
    c.registers = registers_of(w);
    c.smem_bytes = plan.smem_bytes;
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
        "a lane has a key and computes its whole dot product; with it come padded rows of K, Q "
        "and probabilities in shared memory, and tiles of 128 keys, which let three CTAs on an "
        "SM",
    .evidence = "five shuffles a row in a loop over 32 keys, where gqa has five a key",
};

const KernelRecord<Tile> record{
    .name = "gqa_scorestationary",
    .summary = "gqa with a key a lane: one reduction a row for 32 keys",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::gqa_scorestationary

RACELINE_KERNEL(gqa_scorestationary, raceline::kernels::gqa_scorestationary::record)

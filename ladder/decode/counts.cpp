// SPDX-License-Identifier: Apache-2.0
// The counts of the decode rungs.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/decode/counts.hpp"

#include <algorithm>
#include <cmath>

#include "device/device.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::decode {
namespace {

double part_bytes(const Form& f) {
    return sizeof(float) * part_floats(static_cast<int>(f.columns));
}

void add_steps(Work& work, const std::vector<Step>& steps, double ctas) {
    for (const Step& step : steps) {
        for (const auto& [id, amount] : step.work) {
            work[id] += step.repeat * amount * ctas;
        }
    }
}

Counts partial_launch(const Form& f, const Workload& w, const Plan& plan, const Device& device) {
    const auto splits = static_cast<double>(plan.splits);
    const double left = f.cta_rows * (splits > 1 ? part_bytes(f) : f.out_bytes);
    Counts c;
    c.launch = "partial";
    c.ctas = plan.groups * plan.splits;
    c.steps = f.steps(f, static_cast<double>(plan.keys), left);
    // Of each sequence: splits of plan.keys keys, one with what is left, and empty ones.
    const auto groups = static_cast<double>(plan.groups / std::max<std::int64_t>(1, w.batch));
    double pages = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto keys = static_cast<double>(w.length_k(b));
        const double full = std::floor(keys / std::max(1.0, static_cast<double>(plan.keys)));
        const double rest = keys - full * static_cast<double>(plan.keys);
        add_steps(c.work, c.steps, groups * full);
        add_steps(c.work, f.steps(f, rest, left), groups * (rest > 0 ? 1 : 0));
        add_steps(c.work, f.steps(f, 0, left), groups * (splits - full - (rest > 0 ? 1 : 0)));
        pages += f.paged ? std::ceil(keys / static_cast<double>(w.page_size)) : 0;
    }
    c.imbalance = std::max(1.0, static_cast<double>(plan.keys * plan.splits * w.batch) /
                                    std::max(1.0, static_cast<double>(w.tokens_k())));
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() + pages * sizeof(std::int32_t);
    c.work["byte.dram_write"] =
        splits > 1 ? 0 : w.bytes_out() + static_cast<double>(plan.rows) * sizeof(float);
    c.reread.push_back({(splits - 1) * w.bytes_q(), w.bytes_q()});
    if (f.readers > 1) {
        const auto held = static_cast<double>(device.units * plan.resident * plan.smem_bytes);
        c.reread.push_back({(f.readers - 1) * w.bytes_kv(),
                            f.readers_keep_pace ? std::min(w.bytes_kv(), held) : w.bytes_kv()});
    }
    c.threads = static_cast<int>(lanes * f.all_warps);
    c.registers = f.registers;
    c.smem_bytes = plan.smem_bytes;
    c.bytes_in_flight = f.bytes_in_flight > 0 ? f.bytes_in_flight : f.stage.bytes;
    c.overlap = f.overlap;
    return c;
}

Counts merge_launch(const Form& f, const Workload& w, const Plan& plan) {
    const Merge& m = f.merge;
    const double all_threads = lanes * f.all_warps, parts = m.parts * f.all_warps;
    const double others = f.all_warps - 1, part = part_bytes(f);
    Counts c;
    c.launch = "merge";
    c.ctas = plan.rows;
    c.threads = static_cast<int>(all_threads);
    c.registers = m.registers;
    c.smem_bytes = static_cast<std::int64_t>(f.all_warps * part);
    c.bytes_in_flight = parts * part;
    // Some parts of each warp, read from the L2, where they were written a moment ago.
    c.steps = {{"parts",
                std::ceil(static_cast<double>(plan.splits) / parts),
                {{"op.issue", all_threads * m.code.instructions},
                 {"op.ex2", all_threads * 2 * m.parts},
                 {"flop.fma.fp32", parts * 3 * f.columns},
                 {"byte.l2", parts * part}},
                "latency.l2",
                m.code.clocks},
               {"ends",
                1,
                {{"op.issue", lanes * (m.ends + others * m.one_more)},
                 {"byte.smem_lsu", 2 * f.all_warps * part},
                 {"byte.l2", f.out_bytes}},
                "",
                m.ends_clocks}};
    add_steps(c.work, c.steps, static_cast<double>(plan.rows));
    c.work["byte.dram_write"] = w.bytes_out() + static_cast<double>(plan.rows) * sizeof(float);
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

}  // namespace

Work one_key(const Form& f, double instructions, double flops_a_row) {
    return {{"op.issue", lanes * f.all_warps * instructions},
            {"flop.fma.fp32", f.all_warps * f.packed * flops_a_row},
            {"op.ex2", f.all_warps * f.packed * 2 * lanes},
            {"byte.smem_lsu", f.all_warps * (f.kv_bytes + f.packed * 5 * line)}};
}

double batches_of(const Form& f, double keys) {
    const double rows = f.stage.bytes / f.kv_bytes;  // of a batch
    const double full = std::floor(keys / f.tile_keys);
    const double rest = keys - full * f.tile_keys;
    return full * f.tile_keys / rows + std::ceil(rest / rows);
}

std::vector<Step> steps_of(const Form& f, double keys, double left_bytes) {
    const double all_threads = lanes * f.all_warps;
    const double batches = batches_of(f, keys);
    const Batch& b = f.stage;
    Step stage{"stage",
               batches,
               {{"op.issue", all_threads * b.code.instructions},
                {"byte.smem_lsu", b.staged_bytes + (f.paged ? b.lookups * f.all_warps * line : 0)}},
               b.ahead ? "" : "latency.dram",
               b.code.clocks + (f.paged ? b.table_clocks : 0)};
    if (!b.ahead) {
        stage.work["byte.l2"] = keys * f.kv_bytes / std::max(1.0, batches);
    }
    std::vector<Step> steps{
        {"setup",
         1,
         {{"op.issue", all_threads * f.setup.instructions}, {"byte.l2", f.cta_rows * f.q_bytes}},
         "latency.dram",
         f.setup.clocks},
        {"tiles",
         std::ceil(keys / f.tile_keys),
         {{"op.issue", all_threads * f.tile.instructions}},
         "",
         f.tile.clocks},
        stage};
    if (b.ahead) {  // nothing hides the first tile's way from memory
        steps.push_back({"first tile", keys > 0 ? 1.0 : 0.0, {}, "latency.dram", 0});
    }
    if (b.lookups > 0) {  // the first look into the table; a line of it then serves 32 pages
        steps.push_back({"table", f.paged ? 1.0 : 0.0, {{"byte.l2", line}}, "latency.dram", 0});
    }
    steps.push_back(
        {"keys", std::ceil(keys / f.keys_at_once / f.key_warps), f.keys, "", f.key_clocks});
    steps.push_back(
        {"finish",
         1,
         {{"op.issue", all_threads * f.finish.instructions},
          {"byte.smem_lsu", (f.all_warps * f.packed + f.key_warps * f.cta_rows) * part_bytes(f)},
          {"byte.l2", left_bytes}},
         "",
         f.finish.clocks});
    return steps;
}

std::vector<Counts> counts_of(const Form& f, const Workload& w, const Plan& plan,
                              const Device& device) {
    std::vector<Counts> launches{partial_launch(f, w, plan, device)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(f, w, plan));
    }
    return launches;
}

}  // namespace raceline::kernels::decode

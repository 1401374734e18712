// SPDX-License-Identifier: Apache-2.0
// simt's work as its code does it: padding of tiles and head dims included, nothing timed.

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/simt/index.hpp"
#include "kernels/simt/instructions.hpp"
#include "kernels/simt/plan.hpp"

namespace raceline::kernels::simt {
namespace {

// What all CTAs of the main launch do together, and the one that does most.
struct Totals {
    double tiles = 0;       ///< key tiles computed
    double keys = 0;        ///< keys read, over all CTAs
    double query_rows = 0;  ///< packed rows that exist, over all CTAs
    double ctas = 0;        ///< that have rows
    double most_tiles = 0;  ///< of one CTA
    double pairs = 0;       ///< keys of a CTA × its rows
};

void add_sequence(Totals& t, const Workload& w, const Problem& s, const Plan& plan,
                  const Tile& tile, std::int64_t b, double copies) {
    const auto group = static_cast<std::int32_t>(s.group());
    const auto length_q = static_cast<std::int32_t>(w.length_q(b));
    const Band band{length_q, static_cast<std::int32_t>(w.length_k(b)),
                    static_cast<std::int32_t>(s.window.left),
                    static_cast<std::int32_t>(s.window.right)};
    const std::int32_t packed = length_q * group;
    const auto splits = static_cast<std::int32_t>(plan.splits);
    for (std::int32_t row = 0; row < packed; row += tile.rows) {
        const std::int32_t rows = std::min(tile.rows, packed - row);
        const Keys all = band.visible(row / group, (row + rows - 1) / group);
        for (std::int32_t split = 0; split < splits; ++split) {
            const Keys keys = split_keys(all, split, splits, tile.keys);
            const auto tiles = static_cast<double>(divide_up(keys.count(), tile.keys));
            t.tiles += copies * tiles;
            t.keys += copies * keys.count();
            t.query_rows += copies * rows;
            t.pairs += copies * rows * keys.count();
            t.ctas += copies;
            t.most_tiles = std::max(t.most_tiles, tiles);
        }
    }
}

Totals totals_of(const Workload& w, const Problem& s, const Plan& plan, const Tile& tile) {
    Totals t;
    const auto heads = static_cast<double>(s.heads_kv);
    if (!w.ragged() && w.batch > 0) {
        add_sequence(t, w, s, plan, tile, 0, heads * static_cast<double>(w.batch));
    } else {
        for (std::int64_t b = 0; b < w.batch; ++b) {
            add_sequence(t, w, s, plan, tile, b, heads);
        }
    }
    return t;
}

void add_scaled(Work& into, const Step& step, double factor) {
    for (const auto& [id, amount] : step.work) {
        into[id] += factor * amount;
    }
}

// All traffic of the launch through memory; the steps know only one CTA's.
void count_memory(Counts& c, const Body& b, const Totals& t, double partial_bytes) {
    const Workload& w = b.w;
    const double kv_row_bytes =
        static_cast<double>(w.headdim + (w.mla ? 0 : w.headdim_v)) * bytes_of(w.kv_dtype);
    const double q_row_bytes = static_cast<double>(w.headdim) * bytes_of(w.dtype);
    const double lse_bytes = static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);
    const double out_bytes = b.plan.splits > 1 ? 0 : w.bytes_out() + lse_bytes;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = out_bytes;
    c.work["byte.l2"] =
        t.keys * b.row_bytes + t.query_rows * q_row_bytes + partial_bytes + out_bytes;
    // Row tiles of a head, and splits for Q, read what another CTA has read.
    c.reread.push_back({std::max(0.0, t.keys * kv_row_bytes - w.bytes_kv()), w.bytes_kv()});
    c.reread.push_back({std::max(0.0, t.query_rows * q_row_bytes - w.bytes_q()), w.bytes_q()});
    c.bytes_in_flight = std::min(b.tile.keys * b.row_bytes,
                                 b.tile.threads * 16.0 * load_batch(b.tile, b.plan.v_width));
}

Counts main_launch(const Workload& w, const Problem& s, const Plan& plan, const Tile& tile) {
    const Totals t = totals_of(w, s, plan, tile);
    const Body b = body_of(w, plan, tile);
    const double partial_bytes =
        plan.splits > 1 ? t.query_rows * sizeof(float) * static_cast<double>(plan.partial_width + 2)
                        : 0;
    const double out_bytes = plan.splits > 1
                                 ? partial_bytes / std::max(t.ctas, 1.0)
                                 : tile.rows * static_cast<double>(w.headdim_v) * bytes_of(w.dtype);
    Counts c;
    c.launch = "main";
    c.steps = steps_of(b, t.most_tiles, out_bytes);
    for (const Step& step : c.steps) {
        const bool once = step.repeat == 1 && (step.name == "setup" || step.name == "finish");
        const double heaviest = std::max(t.most_tiles, 1.0);
        add_scaled(c.work, step, once ? t.ctas : step.repeat / heaviest * t.tiles);
    }
    count_memory(c, b, t, partial_bytes);

    c.ctas = plan.ctas;
    c.threads = tile.threads;
    c.registers = declared_registers(tile, plan.v_width);
    c.smem_bytes = plan.smem_bytes;
    const double mean = t.ctas > 0 ? t.tiles / t.ctas : 0;
    c.imbalance = mean > 0 ? t.most_tiles / mean : 1;
    c.balanced_order = true;
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "op.ex2", "op.issue"}};
    return c;
}

Counts merge_launch(const Workload& w, const Plan& plan) {
    const auto rows = static_cast<double>(w.tokens_q() * w.heads_q);
    const auto splits = static_cast<double>(plan.splits);
    const double read = splits * (plan.partial_width + 2) * sizeof(float);
    Counts c;
    c.launch = "merge";
    c.work["flop.fma.fp32"] = rows * splits * 2 * plan.partial_width;
    c.work["op.ex2"] = rows * splits * (plan.partial_width / 4.0 + 4);
    // The partial answers were written a moment ago and are read from the L2.
    c.work["byte.l2"] = rows * read + w.bytes_out();
    c.work["byte.dram_write"] = w.bytes_out() + rows * sizeof(float);
    c.ctas = plan.total_rows;
    c.threads = 128;
    c.registers = merge_registers;
    c.smem_bytes = 512 * (4 * sizeof(float));
    c.bytes_in_flight = std::min(read, 4.0 * 4 * plan.partial_width * sizeof(float));
    // Sums of a row: both passes ask for them, the second finds them in L1. Then a warp takes every
    // fourth split, one after the other.
    const double own = std::ceil(splits / 4);
    const double threads = c.threads;
    c.steps = {{"sums", std::ceil(splits / 32), {}, "latency.l2"},
               {"totals", 1, {{"op.issue", threads * merge_totals.instructions}}, ""},
               {"outputs",
                own,
                {{"byte.l2", 16.0 * plan.partial_width * sizeof(float)},
                 {"op.issue", threads * merge_split.instructions}},
                "latency.l2"}};
    c.steps[1].clocks = merge_totals.clocks;
    c.steps[2].clocks = merge_split.clocks;
    c.work["op.issue"] =
        rows * threads * (merge_totals.instructions + own * merge_split.instructions);
    c.overlap = {{"flop.fma.fp32", "op.ex2", "op.issue"}};
    return c;
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Problem problem = problem_of(w);
    const Plan plan = make_plan(problem, tile, device);
    std::vector<Counts> launches{main_launch(w, problem, plan, tile)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(w, plan));
    }
    return launches;
}

}  // namespace raceline::kernels::simt

// SPDX-License-Identifier: Apache-2.0
// simt's work as its code does it: padding of tiles and head dims included, nothing timed. First
// the phases of one CTA of the main launch, as work and clocks, then the launches.

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/simt/index.hpp"
#include "kernels/simt/instructions.hpp"
#include "kernels/simt/plan.hpp"
#include "model/constant.hpp"
#include "workload/row_blocks.hpp"

namespace raceline::kernels::simt {
namespace {

// Everything that one call's CTAs have in common.
struct Body {
    const Workload& w;
    const Plan& plan;
    const Tile& tile;
    double warps, lane_rows, quads;  ///< quads: of outputs, a lane
    double element;                  ///< bytes of K and V
    double row_bytes;                ///< of K and V as loaded
};

// A shared-memory access of a warp takes at least one pass of 32 banks of 4 bytes, with 16 bytes a
// lane four: 512 bytes go to registers, and the probe of shared memory sees 128 of them a clock.
// Where neighbouring lanes read the same, as those of a row group do of Q and P, one pass fills two
// registers (forums.developer.nvidia.com/t/77228, said of compute capability 7). Lanes that share a
// key are eight apart, which saves nothing.
constexpr double lanes = 32;  // of a warp
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;

// Code that every warp runs, as work of the CTA.
void add_code(Step& step, const Body& b, Code code) {
    step.work["op.issue"] += code.instructions * b.tile.threads;
    step.clocks += code.clocks;
}

// Loads of one batch are in flight together; the next batch waits for them. First they come, then
// they are converted and stored.
struct Staging {
    Step load, store;
};
Staging staging(const Body& b, double key_tiles) {
    const auto padded = static_cast<double>(b.plan.depth + (b.plan.shared_kv ? 0 : b.plan.v_width));
    const double chunks = b.tile.keys * padded * b.element / 16 / b.tile.threads;  // of a thread
    const auto splits_in_16 = [&](std::int64_t columns) {
        return std::fmod(static_cast<double>(columns) * b.element, 16) == 0;
    };
    const bool chunked = splits_in_16(b.w.headdim) && splits_in_16(b.w.headdim_v);
    const double heads = b.plan.shared_kv ? 1 : 2;
    const double each = chunked ? load_batch(b.tile, b.plan.v_width) : 4;
    const double loads = chunked ? chunks : b.tile.keys * padded / b.tile.threads;
    const double batches = heads * std::ceil(loads / heads / each);  // K and V by themselves
    const double of_batch = loads / batches;
    Staging s;
    s.load.name = "load";
    s.load.repeat = batches * key_tiles;
    add_code(s.load, b,
             heads / batches * stage_head +
                 of_batch * (chunked ? load_chunk(b.w.page_size > 0) : element_loaded));
    const double bytes = b.tile.keys * b.row_bytes / batches;
    s.load.work["byte.l2"] = bytes;
    // The first row tile's keys come from DRAM; what another row tile reads as well is mostly in
    // the L2 already.
    s.load.work["byte.dram_read"] = bytes / static_cast<double>(b.plan.row_tiles);
    s.load.waits = b.plan.row_tiles > 1 ? "latency.l2" : "latency.dram";
    s.store.name = "store";
    s.store.repeat = s.load.repeat;
    add_code(s.store, b,
             of_batch * (chunked ? store_chunk(b.element) : element_stored) + batch_end);
    s.store.clocks += branch_back;
    const double passes = chunked ? store_chunk_passes(b.element) : 1;
    s.store.work["byte.smem_lsu"] = of_batch * b.warps * passes * pass_bytes;
    return s;
}

Step scoring(const Body& b, double key_tiles) {
    Step step;
    step.name = "scores";
    step.repeat = key_tiles;
    const double pairs = b.plan.depth / 8.0;
    add_code(step, b,
             tile_head + pairs * score_pair(b.tile.rows_per_lane(), b.tile.keys_per_lane()));
    step.clocks += (pairs + 1) * branch_back;  // the loop, and that over tiles
    step.work["flop.fma.fp32"] = 2.0 * b.tile.rows * b.tile.keys * b.plan.depth;
    step.work["byte.smem_lsu"] =
        b.warps * 2 * pairs *
        (b.lane_rows * shared_quad_passes + b.tile.keys_per_lane() * quad_passes) * pass_bytes;
    return step;
}

Step softmax(const Body& b, double key_tiles) {
    Step step;
    step.name = "softmax";
    step.repeat = key_tiles;
    add_code(
        step, b,
        b.lane_rows * softmax_row(b.tile.keys_per_lane(), b.plan.v_width / 32, b.w.softcap > 0));
    // One exponential a score, one a row and lane to rescale; tanh is an exponential and a
    // division.
    step.work["op.ex2"] =
        b.tile.rows * b.tile.keys *
            (b.w.softcap > 0 ? counted(3, "exp, and an exponential and a division of tanh") : 1.0) +
        b.tile.rows * 8.0 * b.tile.key_warps;
    step.work["byte.smem_lsu"] = b.warps * b.lane_rows * b.tile.keys_per_lane() * pass_bytes;
    return step;
}

Step accumulating(const Body& b, double key_tiles) {
    Step step;
    step.name = "outputs";
    step.repeat = key_tiles;
    const double loops = b.tile.keys_per_warp() / 4.0;
    add_code(step, b, loops * accumulate_quad(b.tile.rows_per_lane(), b.plan.v_width / 32));
    step.clocks += loops * branch_back;
    step.work["flop.fma.fp32"] = 2.0 * b.tile.rows * b.tile.keys * b.plan.v_width;
    step.work["byte.smem_lsu"] = b.warps * loops *
                                 (b.lane_rows * shared_quad_passes + 4 * b.quads * quad_passes) *
                                 pass_bytes;
    return step;
}

// Before the first tile: who am I, Q into shared memory.
Step starting(const Body& b, double bytes) {
    const double element = bytes_of(b.w.dtype);
    const double chunks = std::ceil(b.tile.rows * b.plan.depth * element / 16 / b.tile.threads);
    Step step;
    step.name = "setup";
    step.work["byte.l2"] = bytes;
    add_code(step, b,
             start(b.tile.rows_per_lane()) + chunks * (load_query_chunk + store_chunk(element)));
    step.waits = "latency.dram";
    return step;
}

// After the last one: the warps' outputs meet in shared memory.
Step finishing(const Body& b, double bytes) {
    const double quads = std::ceil(b.tile.rows * b.plan.v_width / 4.0 / b.tile.threads);
    Step step;
    step.name = "finish";
    add_code(
        step, b,
        gathered(b.tile.rows_per_lane()) + quads * write_quad(b.tile.key_warps, b.plan.splits > 1));
    step.work["byte.smem_lsu"] =
        2.0 * b.tile.key_warps * b.tile.rows * b.plan.v_width * sizeof(float);
    step.work["byte.l2"] = bytes;
    return step;
}

Body body_of(const Workload& w, const Plan& plan, const Tile& tile) {
    double columns = static_cast<double>(w.headdim);
    // MLA whose V cannot share K's tile in shared memory is read twice.
    columns += plan.shared_kv ? 0 : static_cast<double>(w.headdim_v);
    return {w,
            plan,
            tile,
            tile.threads / 32.0,
            static_cast<double>(tile.rows_per_lane()),
            plan.v_width / 32.0,
            bytes_of(w.kv_dtype),
            columns * bytes_of(w.kv_dtype)};
}

// Of a CTA with `key_tiles` tiles of keys that leaves `out_bytes`.
std::vector<Step> steps_of(const Body& b, double key_tiles, double out_bytes) {
    const Staging staged = staging(b, key_tiles);
    return {starting(b, b.tile.rows * static_cast<double>(b.w.headdim) * bytes_of(b.w.dtype)),
            staged.load,
            staged.store,
            scoring(b, key_tiles),
            softmax(b, key_tiles),
            accumulating(b, key_tiles),
            finishing(b, out_bytes)};
}

// What all CTAs of the main launch do together, and the one that does most.
struct Totals {
    double tiles = 0;       ///< key tiles computed
    double keys = 0;        ///< keys read, over all CTAs
    double query_rows = 0;  ///< packed rows that exist, over all CTAs
    double ctas = 0;        ///< that have rows
    double most_tiles = 0;  ///< of one CTA
};

// Of more row blocks between two bends of the mask than this, some stand for their neighbours.
constexpr std::int64_t blocks_walked = 1 << 16;

void add_sequence(Totals& t, const Workload& w, const Problem& s, const Plan& plan,
                  const Tile& tile, std::int64_t b, double copies) {
    const std::int64_t group = s.group();
    const auto length_q = static_cast<std::int32_t>(w.length_q(b));
    const auto length_k = static_cast<std::int32_t>(w.length_k(b));
    const Band band{length_q, length_k, static_cast<std::int32_t>(s.window.left),
                    static_cast<std::int32_t>(s.window.right)};
    const std::int64_t packed = length_q * group;
    const auto splits = static_cast<std::int32_t>(plan.splits);
    const WideBand wide{length_q, length_k, s.window.left, s.window.right};
    visit_blocks(wide, group, tile.rows, blocks_walked, [&](CountedBlock counted) {
        const std::int64_t row = counted.block * tile.rows;
        const std::int64_t rows = std::min<std::int64_t>(tile.rows, packed - row);
        const Keys all = band.visible(static_cast<std::int32_t>(row / group),
                                      static_cast<std::int32_t>((row + rows - 1) / group));
        const double alike = copies * static_cast<double>(counted.times);
        for (std::int32_t split = 0; split < splits; ++split) {
            const Keys keys = split_keys(all, split, splits, tile.keys);
            const auto tiles = static_cast<double>(divide_up(keys.count(), tile.keys));
            t.tiles += alike * tiles;
            t.keys += alike * keys.count();
            t.query_rows += alike * static_cast<double>(rows);
            t.ctas += alike;
            t.most_tiles = std::max(t.most_tiles, tiles);
        }
    });
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
    c.registers = plan.registers;
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
    // Sums of a row: each of two passes asks for those of 32 splits at a time. Then a warp takes
    // every fourth split, one after the other, for 128 columns at a time.
    const double own = std::ceil(splits / 4) * std::ceil(plan.partial_width / 128.0);
    const double looks = 2 * std::ceil(splits / lanes);
    const auto step = [&](const char* name, double repeat, Code code, Work work,
                          const char* waits) {
        work["op.issue"] = c.threads * code.instructions;
        c.steps.push_back({name, repeat, std::move(work), waits, code.clocks});
        c.work["op.issue"] += rows * repeat * c.threads * code.instructions;
    };
    step("start", 1, merge_start, {}, "");
    step("sums", looks, merge_sums, {}, "latency.l2");
    step("totals", 1, merge_totals, {}, "");
    step("outputs", own, merge_split, {{"byte.l2", 16.0 * plan.partial_width * sizeof(float)}},
         "latency.l2");
    step("end", 1, merge_end, {}, "");
    c.overlap = {{"flop.fma.fp32", "op.ex2", "op.issue"}};
    return c;
}

}  // namespace

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Problem problem = problem_of(w);
    const Plan plan = make_plan(w, tile, device);
    std::vector<Counts> launches{main_launch(w, problem, plan, tile)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(w, plan));
    }
    return launches;
}

}  // namespace raceline::kernels::simt

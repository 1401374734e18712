// SPDX-License-Identifier: Apache-2.0
// simt's work as its code does it: padding of tiles and head dims included, nothing timed.
#include "kernels/simt/counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/simt/index.hpp"
#include "kernels/simt/plan.hpp"

namespace raceline::kernels::simt {
namespace {

// A shared-memory access of a warp takes at least one pass of 32 banks of 4 bytes.
constexpr double pass_bytes = 128;

// What all CTAs of the main launch do together, and the one that does most.
struct Totals {
    double tiles = 0;       ///< key tiles computed
    double keys = 0;        ///< keys read, over all CTAs
    double query_rows = 0;  ///< packed rows that exist, over all CTAs
    double ctas = 0;        ///< that have rows
    double most_tiles = 0;  ///< of one CTA
    double pairs = 0;       ///< keys of a CTA × its rows
};

void add_sequence(Totals& t, const Workload& w, const Shape& s, const Plan& plan, const Tile& tile,
                  std::int64_t b, double copies) {
    const auto group = static_cast<std::int32_t>(s.group());
    const auto length_q = static_cast<std::int32_t>(w.length_q(b));
    const Band band{length_q, static_cast<std::int32_t>(w.length_k(b)),
                    static_cast<std::int32_t>(s.left), static_cast<std::int32_t>(s.right)};
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

Totals totals_of(const Workload& w, const Shape& s, const Plan& plan, const Tile& tile) {
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

// One CTA, one tile of keys: the body of the kernel's loop.
Work tile_work(const Workload& w, const Plan& plan, const Tile& tile, double kv_row_bytes) {
    const double rows = tile.rows;
    const double keys = tile.keys;
    const double warps = tile.threads / 32.0;
    const double lane_rows = tile.rows_per_lane();
    const double depth_quads = plan.depth / 4.0;
    const double staged = keys * (plan.depth + (plan.shared_kv ? 0 : plan.v_width)) * sizeof(float);
    // Per warp: Q and K quads of the scores; P written and read; V quads, once a key.
    const double passes =
        warps *
        (depth_quads * (lane_rows + tile.keys_per_lane()) + lane_rows * tile.keys_per_lane() +
         tile.keys_per_warp() / 4.0 * lane_rows + tile.keys_per_warp() * plan.v_width / 32.0);
    Work work;
    work["flop.fma.fp32"] = 2 * rows * keys * (plan.depth + plan.v_width);
    // One exponential a score, one a row and lane to rescale; tanh is an exponential and a
    // division.
    work["op.ex2"] = rows * keys * (w.softcap > 0 ? 3 : 1) + rows * 8 * tile.key_warps;
    work["byte.smem_lsu"] = staged + passes * pass_bytes;
    work["byte.l2"] = keys * kv_row_bytes;
    return work;
}

Work scaled(Work work, double factor) {
    for (auto& [id, amount] : work) {
        amount *= factor;
    }
    return work;
}

Counts main_launch(const Workload& w, const Shape& s, const Plan& plan, const Tile& tile) {
    const Totals t = totals_of(w, s, plan, tile);
    const double kv_row_bytes =
        static_cast<double>(w.headdim + (w.mla ? 0 : w.headdim_v)) * bytes_of(w.kv_dtype);
    // MLA whose V cannot share K's tile in shared memory is read twice.
    const double loaded_row_bytes =
        kv_row_bytes +
        (w.mla && !plan.shared_kv ? static_cast<double>(w.headdim_v) * bytes_of(w.kv_dtype) : 0);
    const double q_row_bytes = static_cast<double>(w.headdim) * bytes_of(w.dtype);
    const double rows_out = static_cast<double>(w.tokens_q() * w.heads_q);
    const double lse_bytes = rows_out * sizeof(float);
    const double partial_bytes =
        plan.splits > 1 ? t.query_rows * sizeof(float) * static_cast<double>(plan.partial_width + 2)
                        : 0;
    const Work one = tile_work(w, plan, tile, loaded_row_bytes);

    Counts c;
    c.launch = "main";
    c.work = scaled(one, t.tiles);
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] = plan.splits > 1 ? 0 : w.bytes_out() + lse_bytes;
    c.work["byte.l2"] = t.keys * loaded_row_bytes + t.query_rows * q_row_bytes + partial_bytes +
                        (plan.splits > 1 ? 0 : w.bytes_out() + lse_bytes);
    // Row tiles of a head, and splits for Q, read what another CTA has read.
    c.reread.push_back({std::max(0.0, t.keys * kv_row_bytes - w.bytes_kv()), w.bytes_kv()});
    c.reread.push_back({std::max(0.0, t.query_rows * q_row_bytes - w.bytes_q()), w.bytes_q()});

    c.ctas = plan.ctas;
    c.threads = tile.threads;
    c.registers = declared_registers(tile, plan.v_width);
    c.smem_bytes = plan.smem_bytes;
    c.bytes_in_flight = std::min(tile.keys * loaded_row_bytes,
                                 tile.threads * 16.0 * load_batch(tile, plan.v_width));
    const double mean = t.ctas > 0 ? t.tiles / t.ctas : 0;
    c.imbalance = mean > 0 ? t.most_tiles / mean : 1;
    c.balanced_order = true;

    const double setup_bytes = tile.rows * q_row_bytes;
    const double out_bytes = plan.splits > 1
                                 ? partial_bytes / std::max(t.ctas, 1.0)
                                 : tile.rows * static_cast<double>(w.headdim_v) * bytes_of(w.dtype);
    c.steps = {{"setup", 1, {{"byte.l2", setup_bytes}}, "latency.dram"},
               {"tile", t.most_tiles, one, "latency.dram"},
               {"finish",
                1,
                {{"byte.smem_lsu", 2.0 * tile.key_warps * tile.rows * plan.v_width * sizeof(float)},
                 {"byte.l2", out_bytes}},
                ""}};
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "op.ex2"}};
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
    c.smem_bytes = 4 * 512 * sizeof(float);
    c.bytes_in_flight = std::min(read, 4.0 * 4 * plan.partial_width * sizeof(float));
    // Two dependent passes over the sums, then four warps with four loads in flight each.
    c.steps = {{"sums", 2 * std::ceil(splits / 32), {}, "latency.l2"},
               {"outputs",
                std::ceil(splits / 16),
                {{"byte.l2", 16.0 * plan.partial_width * sizeof(float)}},
                "latency.l2"}};
    return c;
}

}  // namespace

int declared_registers(const Tile& tile, int v_width) {
    // Rows as in `tiles`, columns as in `v_widths`.
    static constexpr std::array<std::array<int, v_widths.size()>, tiles.size()> table{{
        {154, 156, 161, 157, 158, 157},
        {155, 145, 155, 155, 167, 0},
        {120, 128, 168, 0, 0, 0},
        {90, 90, 117, 118, 123, 157},
        {119, 115, 122, 158, 167, 0},
        {128, 160, 168, 0, 0, 0},
    }};
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        for (std::size_t v = 0; v < v_widths.size(); ++v) {
            if (tiles[t] == tile && v_widths[v] == v_width) {
                return table[t][v];
            }
        }
    }
    return 0;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Shape shape = shape_of(w);
    const Plan plan = make_plan(shape, tile, device);
    std::vector<Counts> launches{main_launch(w, shape, plan, tile)};
    if (plan.splits > 1) {
        launches.push_back(merge_launch(w, plan));
    }
    return launches;
}

}  // namespace raceline::kernels::simt

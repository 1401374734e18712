// SPDX-License-Identifier: Apache-2.0
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/tracks/counts.hpp"

#include <algorithm>
#include <utility>

#include "model/counts.hpp"

namespace raceline::kernels::tracks {

int registers_of(const std::array<int, 4>& row, const Workload& w) {
    return row[(w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U)];
}

Step role(std::string name, double repeat, const Code& code, double working, double passes,
          Work more) {
    more["op.issue"] = working * code.instructions;
    if (passes > 0) {
        more["byte.smem_lsu"] = passes * pass_bytes;
    }
    return {std::move(name), repeat, std::move(more), "", code.clocks};
}

std::vector<std::vector<std::string>> overlap_of(const char* products) {
    return {{products, "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
}

Counts launch_counts(const char* launch, const TileCover& cover, const char* products) {
    Counts c;
    c.launch = launch;
    c.ctas = static_cast<std::int64_t>(cover.row_tiles);
    c.imbalance = cover.imbalance();
    c.overlap = overlap_of(products);
    return c;
}

void add_traffic(Counts& c, const Workload& w) {
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] =
        w.bytes_out() + static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);
}

const char* operands_of(const Workload& w, int rows) {
    return w.seqlen_q > rows ? "latency.l2" : "latency.dram";
}

Counts walk_counts(const Workload& w, const TileCover& cover, Walk walk) {
    const double ctas = std::max(1.0, cover.row_tiles);
    Counts c = launch_counts(walk.launch, cover, walk.products);
    c.threads = walk.threads;
    c.registers = walk.registers;
    c.smem_bytes = walk.smem_bytes;
    c.bytes_in_flight = walk.tile.front().work["byte.l2"];
    walk.tile.front().waits = operands_of(w, walk.rows);
    walk.once.waits = "latency.dram";
    for (Step& step : walk.tile) {
        for (const auto& [id, amount] : step.work) {
            c.work[id] += amount * step.repeat * cover.tiles;
        }
        step.repeat *= cover.most_tiles;
    }
    for (const auto& [id, amount] : walk.once.work) {
        c.work[id] += amount * ctas;
    }
    c.steps = std::move(walk.tile);
    c.steps.insert(walk.once.name == "setup" ? c.steps.begin() : c.steps.end(), walk.once);
    return c;
}

std::vector<Counts> one_pass_counts(const Workload& w, Walk walk) {
    const TileCover cover = cover_tiles(w, walk.rows, tile_keys);
    const double kv_bytes = tile_keys * static_cast<double>(w.headdim) * bytes_of(w.dtype) * 2;
    walk.tile.front().work["byte.l2"] = kv_bytes;
    walk.once.work["byte.l2"] = (w.bytes_q() + w.bytes_out()) / std::max(1.0, cover.row_tiles);
    Counts c = walk_counts(w, cover, std::move(walk));
    add_traffic(c, w);
    c.reread.push_back({std::max(0.0, cover.tiles * kv_bytes - w.bytes_kv()), w.bytes_kv()});
    return {c};
}

}  // namespace raceline::kernels::tracks

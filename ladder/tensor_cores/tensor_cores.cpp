// SPDX-License-Identifier: Apache-2.0
// Rung 5 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/tensor_cores/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::tensor_cores {
namespace {

std::string supports(const Workload& w, const Tile&, const Device& device) {
    if (device.kind != DeviceKind::cuda || !device.find("flop.mma.fp16")) {
        return "it needs an NVIDIA GPU with tensor cores for fp16";
    }
    if (w.dtype != DType::fp16 || w.kv_dtype != DType::fp16) {
        return std::string("it multiplies fp16 matrices, not ") + name_of(w.dtype) + " and " +
               name_of(w.kv_dtype);
    }
    if (w.headdim != 64 && w.headdim != 128) {
        return "it takes head dims 64 and 128";
    }
    return beyond_plain(w);
}

Precision precision(const Workload&) {
    return {Rounding::fp16, Rounding::fp32, Rounding::fp16, Rounding::fp32_rz, Rounding::fp16};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

// A shared-memory access of a warp takes a pass for every 128 bytes; none takes more: see tile.hpp.
constexpr double pass_bytes = 128;

// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
// test. Clocks are the compiler's stall counts, which hold the matrix products, five round trips to
// shared memory (29 each), a shuffle (24) and two exponentials (18); waits for loads from global
// memory are counted as such. A staged element is 11.2 instructions.
struct Code {
    double instructions, clocks;
};
constexpr Code loop_code(double items, double headdim) {
    const double n = 350 + 14 * items + 1.9 * headdim;
    return {n, 2.2 * n + 5 * 29 + 24 + 2 * 18};
}
// Staging of Q, and the output's way through shared memory.
constexpr Code rest_code(double headdim) {
    const double n = 213 + 5.95 * headdim;
    return {n, 2.2 * n + headdim / 16 * 2 * 29};
}

// Passes of a warp and tile, besides the staging. A fragment of halves is read in one instruction
// of four passes: Q and K once a product, P, V. Accumulators are eight passes: scores out, factors
// in. The softmax reads sixteen scores a lane and writes as many halves and eight factors.
constexpr double loop_passes(double headdim) {
    constexpr int key_blocks = tile_keys / side;
    const double fragments = 3 * headdim / side * key_blocks + key_blocks;
    return 4 * fragments + 8 * 2 + 8 + 16 + 8 + 8;
}

// As the compiler reports for sm_90: rows as in `tiles`, then 64, 128.
int registers(const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 2>, 2> table{{{104, 168}, {106, 139}}};
    return table[tile.rows == 32 ? 0 : 1][w.headdim == 64 ? 0 : 1];
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const TileCover cover = cover_tiles(w, tile.rows, tile_keys);
    const auto d = static_cast<double>(w.headdim);
    const double ctas = std::max(1.0, cover.row_tiles);
    const double warps = tile.threads() / 32.0;
    const double items = 2 * tile_keys * d / 8 / tile.threads();  // loads of K and V a thread
    const Code loop = loop_code(items, d);
    const Code rest = rest_code(d);
    const double kv_bytes = tile_keys * d * 2 * 2;
    const Work tile_work{{"flop.mma.fp16", 4.0 * tile.rows * tile_keys * d},
                         {"op.ex2", tile.rows * (tile_keys + 2.0)},
                         {"op.issue", tile.threads() * loop.instructions},
                         {"byte.smem_lsu", warps * (4 * items + loop_passes(d)) * pass_bytes},
                         {"byte.l2", kv_bytes}};
    const Work once{{"op.issue", tile.threads() * rest.instructions},
                    {"byte.smem_lsu", warps * (d / 16 * 4 + d) * pass_bytes},
                    {"byte.l2", (w.bytes_q() + w.bytes_out()) / ctas}};
    Counts c;
    c.launch = "forward";
    for (const auto& [id, amount] : tile_work) {
        c.work[id] += amount * cover.tiles;
    }
    for (const auto& [id, amount] : once) {
        c.work[id] += amount * ctas;
    }
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] =
        w.bytes_out() + static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);
    c.reread.push_back({std::max(0.0, cover.tiles * kv_bytes - w.bytes_kv()), w.bytes_kv()});
    c.ctas = static_cast<std::int64_t>(cover.row_tiles);
    c.threads = tile.threads();
    c.registers = registers(tile, w);
    c.smem_bytes = shared_bytes(tile.rows, w.headdim);
    c.bytes_in_flight = kv_bytes;
    c.imbalance = cover.imbalance();
    // Row tiles of a head pass over the same keys: all but the first find them in the L2.
    const char* operands = w.seqlen_q > tile.rows ? "latency.l2" : "latency.dram";
    c.steps = {{"setup", 1, once, "latency.dram", rest.clocks},
               {"tiles", cover.most_tiles, tile_work, operands, loop.clocks}};
    c.overlap = {{"flop.mma.fp16", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return {c};
}

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "light_barriers",
    .changes =
        "both products on tensor cores, through 16 × 16 × 16 WMMA fragments (which brings fp16 "
        "operands in "
        "shared memory, sixteen query rows a warp, and scores, probabilities and factors "
        "that pass through shared memory)",
    .evidence =
        "HMMA for every product and no FFMA in their place; accumulators in registers; one BAR in "
        "the loop",
};

const KernelRecord<Tile> record{
    .name = "tensor_cores",
    .summary = "both products on tensor cores by WMMA, fp16",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::tensor_cores

RACELINE_KERNEL(tensor_cores, raceline::kernels::tensor_cores::record)

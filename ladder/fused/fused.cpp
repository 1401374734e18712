// SPDX-License-Identifier: Apache-2.0
// Rung 4 of the prefill ladder: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/fused/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::fused {
namespace {

std::string supports(const Workload& w, const Tile&, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs an NVIDIA GPU";
    }
    if ((w.dtype != DType::fp32 && w.dtype != DType::fp16) || w.kv_dtype != w.dtype) {
        return std::string("it reads Q, K and V all in fp32 or all in fp16, not ") +
               name_of(w.dtype) + " and " + name_of(w.kv_dtype);
    }
    if (w.headdim != 64 && w.headdim != 128) {
        return "it takes head dims 64 and 128";
    }
    return beyond_plain(w);
}

Precision precision(const Workload& w) {
    const Rounding output = w.dtype == DType::fp16 ? Rounding::fp16 : Rounding::fp32;
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, output};
}

std::size_t workspace(const Workload&, const Tile&, const Device&) {
    return 0;
}

// A shared-memory access of a warp takes a pass for every 128 bytes that go to registers, sixteen
// bytes a lane four. Where neighbouring lanes read the same, two registers fill in one pass: two
// (forums.developer.nvidia.com/t/77228, said of compute capability 7). No access here takes more:
// see tile.hpp.
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;  // neighbouring lanes read the same sixteen bytes

// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
// test. Clocks are the compiler's stall counts, the five shuffles of the maximum (24 each, assumed)
// and two exponentials behind each other (18); waits for loads are counted as such. A staged
// element is 11.6 instructions, four columns of a score six, four keys of a column of O eight.
struct Code {
    double instructions, clocks;
};
constexpr Code loop_code(double items, double headdim) {
    const double n = 83 + 11.6 * items + 3.5 * headdim;
    return {n, 2.4 * n + 5 * 24 + 2 * 18};
}
constexpr Code rest{350, 940};  // before and after the loop

// As the compiler reports for sm_90: rows as in `tiles`, then (64, 128) × (fp32, fp16).
int registers(const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 4>, 3> table{
        {{64, 54, 102, 126}, {63, 60, 64, 62}, {53, 44, 64, 56}}};
    const std::size_t row = tile.rows == 8 ? 0 : tile.rows == 16 ? 1 : 2;
    const std::size_t column = (w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U);
    return table[row][column];
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const TileCover cover = cover_tiles(w, tile.rows, tile_keys);
    const auto d = static_cast<double>(w.headdim);
    const double ctas = std::max(1.0, cover.row_tiles);
    const double items = 2 * d / tile.rows;  // elements of staged K and V a thread and tile
    const Code loop = loop_code(items, d);
    const double kv_bytes = tile_keys * d * bytes_of(w.dtype) * 2;
    // Of a warp and tile: a store of every staged element and of P, K and Q for each score sixteen
    // bytes at a time, a load of V a key and column, one of P for four keys.
    const double passes = items + d / 4 * (shared_quad_passes + quad_passes) + 1 + d +
                          tile_keys / 4.0 * shared_quad_passes;
    const Work tile_work{{"flop.fma.fp32", 4.0 * tile.rows * tile_keys * d},
                         {"op.ex2", 2.0 * tile.rows * tile_keys},
                         {"op.issue", tile.threads() * loop.instructions},
                         {"byte.smem_lsu", tile.rows * passes * pass_bytes},
                         {"byte.l2", kv_bytes}};
    const Work once{{"op.issue", tile.threads() * rest.instructions},
                    {"byte.smem_lsu", tile.rows * d / 32 * pass_bytes},
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
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return {c};
}

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "online",
    .changes =
        "one pass: the output stays in registers and is rescaled when the maximum rises, so that "
        "K is read and multiplied once",
    .evidence = "one launch, no workspace; the loop over keys stores nothing to global memory",
};

const KernelRecord<Tile> record{
    .name = "fused",
    .summary = "one pass, a warp a query row, output in registers, K and V staged",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::fused

RACELINE_KERNEL(fused, raceline::kernels::fused::record)

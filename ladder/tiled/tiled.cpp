// SPDX-License-Identifier: Apache-2.0
// Rung 2 of the prefill ladder: the record, and what its three launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/tiled/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::tiled {
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
    if (std::string beyond = beyond_plain(w); !beyond.empty()) {
        return beyond;
    }
    if (w.seqlen_k > std::int64_t{65535} * tile_keys) {
        return "it has a row of CTAs for every 32 keys, and a grid has at most 65535 of them";
    }
    const double matrix = static_cast<double>(w.batch * w.heads_q * w.seqlen_q) *
                          static_cast<double>(w.seqlen_k) * sizeof(float);
    if (device.memory_bytes > 0 && matrix > 0.5 * static_cast<double>(device.memory_bytes)) {
        return "its score matrix takes more than half of the device's memory";
    }
    return {};
}

Precision precision(const Workload& w) {
    const Rounding output = w.dtype == DType::fp16 ? Rounding::fp16 : Rounding::fp32;
    return {Rounding::fp32, Rounding::fp32, Rounding::fp32, Rounding::fp32, output};
}

std::size_t workspace(const Workload& w, const Tile&, const Device&) {
    return static_cast<std::size_t>(w.batch * w.heads_q * w.seqlen_q * w.seqlen_k) * sizeof(float);
}

// A shared-memory access of a warp takes a pass for every 128 bytes that go to registers, sixteen
// bytes a lane four. Where neighbouring lanes read the same, two registers fill in one pass: two
// (forums.developer.nvidia.com/t/77228, said of compute capability 7). No access here takes more:
// see tile.hpp.
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;  // neighbouring lanes read the same sixteen bytes

// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
// test. Clocks are the compiler's stall counts; waits for loads are counted as such.
struct Code {
    double instructions, clocks;
};
// Four FMAs and two loads for four columns; warps whose rows are masked leave before.
constexpr double scores_dot(double headdim) {
    return 6 * headdim / 4;
}
// An element staged by each thread is 12.5 to 14.6 instructions: address, load, select, store.
constexpr Code scores_code(double items, double headdim) {
    const double n = 162 + 14.6 * items + scores_dot(headdim);
    return {n, 2.5 * n};
}
constexpr Code outputs_loop(double items, double headdim) {
    const double n = 53 + 12.5 * items + 2 * headdim;
    return {n, 2.2 * n};
}
constexpr Code outputs_rest{150, 350};
// Maximum, exponentials, division: sixteen keys with two waits, four with one, four with four.
constexpr Code softmax_key{37 / 16.0 + 57 / 4.0 + 70 / 4.0, 109 / 16.0 + 136 / 4.0 + 235 / 4.0};
constexpr double softmax_waits = 2 / 16.0 + 1 / 4.0 + 4 / 4.0;

// What all launches are made of.
struct Sizes {
    TileCover cover;
    double rows, matrix;
    double spilled;  // of the matrix: goes to DRAM and comes back
    double element, d;
    double items_q, items_kv;  // elements of a staged tile a thread
    const char* operands;      // what the first use of an operand waits for
};

Sizes sizes_of(const Workload& w, const Tile& tile, const Device& device) {
    Sizes z{};
    z.cover = cover_tiles(w, tile.rows, tile_keys);
    z.rows = static_cast<double>(w.tokens_q() * w.heads_q);
    z.matrix = z.cover.pairs * sizeof(float);
    z.spilled = z.matrix > static_cast<double>(device.l2_bytes) ? z.matrix : 0;
    z.element = bytes_of(w.dtype);
    z.d = static_cast<double>(w.headdim);
    z.items_q = z.d / 32;
    z.items_kv = z.d / tile.rows;
    // Row tiles of a head pass over the same keys: all but the first find them in the L2.
    z.operands = w.seqlen_q > tile.rows ? "latency.l2" : "latency.dram";
    return z;
}

Counts scores_launch(const Workload& w, const Sizes& z, const Tile& tile) {
    Counts c;
    c.launch = "scores";
    c.smem_bytes = scores_bytes(tile.rows, w.headdim);
    const Code code = scores_code(z.items_q + z.items_kv, z.d);
    const double grid = z.cover.row_tiles * std::ceil(static_cast<double>(w.seqlen_k) / tile_keys);
    c.ctas = static_cast<std::int64_t>(grid);
    c.imbalance =
        z.cover.tiles > 0 ? grid / z.cover.tiles : 1;  // those of masked tiles leave at once
    const double staged = (tile.rows + tile_keys) * z.d * z.element;
    c.work["flop.fma.fp32"] = z.cover.row_visits * tile_keys * 2 * z.d;
    c.work["op.issue"] = z.cover.tiles * tile.threads() * (code.instructions - scores_dot(z.d)) +
                         z.cover.row_visits * 32 * scores_dot(z.d);
    c.work["byte.smem_lsu"] = (z.cover.tiles * tile.rows * (z.items_q + z.items_kv) +
                               z.cover.row_visits * z.d / 4 * (shared_quad_passes + quad_passes)) *
                              pass_bytes;
    c.work["byte.l2"] = z.cover.tiles * staged + z.matrix;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() / 2;
    c.work["byte.dram_write"] = z.spilled;
    const double q_bytes = z.cover.tiles * tile.rows * z.d * z.element;
    c.reread.push_back(
        {std::max(0.0, z.cover.tiles * tile_keys * z.d * z.element - w.bytes_kv() / 2),
         w.bytes_kv() / 2});
    c.reread.push_back({std::max(0.0, q_bytes - w.bytes_q()), w.bytes_q()});
    c.bytes_in_flight = staged;
    const double each = std::max(1.0, z.cover.tiles);
    c.steps = {{"tile",
                1,
                {{"flop.fma.fp32", c.work["flop.fma.fp32"] / each},
                 {"op.issue", c.work["op.issue"] / each},
                 {"byte.smem_lsu", c.work["byte.smem_lsu"] / each},
                 {"byte.l2", c.work["byte.l2"] / each}},
                z.operands,
                code.clocks}};
    return c;
}

// As in `naive`, with as many rows a CTA as the other launches.
Counts softmax_launch(const Workload& w, const Sizes& z, const Device& device) {
    Counts c;
    c.launch = "softmax";
    c.work["op.ex2"] = z.cover.pairs;
    c.work["op.issue"] = z.cover.pairs * softmax_key.instructions;
    // Three sweeps read, two write.
    c.work["byte.l2"] = 5 * z.matrix + z.rows * sizeof(float);
    c.work["byte.dram_read"] = z.spilled;
    c.work["byte.dram_write"] = z.spilled + z.rows * sizeof(float);
    c.work["byte.smem_lsu"] = 5 * z.matrix;
    // Between its sweeps a row must survive beside the rows of all other resident warps.
    const double resident_rows = device.units * (device.threads_per_unit / 32.0);
    c.reread.push_back(
        {2 * z.matrix, std::min(z.matrix, resident_rows * static_cast<double>(w.seqlen_k) * 4)});
    c.ctas = static_cast<std::int64_t>(z.cover.row_tiles);
    const double ctas = std::max(1.0, z.cover.row_tiles);
    const double keys = std::max(1.0, std::ceil(static_cast<double>(w.seqlen_k) / 32));  // a lane
    const double repeats = keys * softmax_waits;
    c.imbalance = z.rows * static_cast<double>(w.seqlen_k) / std::max(z.cover.pairs, 1.0);
    const double heaviest = c.imbalance / ctas / repeats;
    c.steps = {{"sweeps",
                repeats,
                {{"op.ex2", z.cover.pairs * heaviest},
                 {"op.issue", c.work["op.issue"] * heaviest},
                 {"byte.l2", 5 * z.matrix * heaviest}},
                "latency.l2",
                softmax_key.clocks / softmax_waits}};
    return c;
}

Counts outputs_launch(const Workload& w, const Sizes& z, const Tile& tile) {
    Counts c;
    c.launch = "outputs";
    c.smem_bytes = outputs_bytes(tile.rows, w.headdim);
    const Code loop = outputs_loop(z.items_kv, z.d);
    c.ctas = static_cast<std::int64_t>(z.cover.row_tiles);
    c.imbalance = z.cover.imbalance();
    // Of a warp and tile: stores of P and V, a load of V a key and column, one of P for four keys.
    const double passes = 1 + z.items_kv + z.d + tile_keys / 4.0 * shared_quad_passes;
    const double v_bytes = z.cover.tiles * tile_keys * z.d * z.element;
    const Work tile_work{{"flop.fma.fp32", 2.0 * tile.rows * tile_keys * z.d},
                         {"op.issue", tile.threads() * loop.instructions},
                         {"byte.smem_lsu", tile.rows * passes * pass_bytes},
                         {"byte.l2", (v_bytes + z.matrix) / std::max(1.0, z.cover.tiles)}};
    for (const auto& [id, amount] : tile_work) {
        c.work[id] = amount * z.cover.tiles;
    }
    const double rest = tile.threads() * outputs_rest.instructions;
    const double out = w.bytes_out() / std::max(1.0, z.cover.row_tiles);
    c.work["op.issue"] += z.cover.row_tiles * rest;
    c.work["byte.l2"] += w.bytes_out();
    c.work["byte.dram_read"] = w.bytes_kv() / 2 + z.spilled;
    c.work["byte.dram_write"] = w.bytes_out();
    c.reread.push_back({std::max(0.0, v_bytes - w.bytes_kv() / 2), w.bytes_kv() / 2});
    c.bytes_in_flight = tile_keys * (z.d * z.element + 4.0 * tile.rows);
    c.steps = {{"tiles", z.cover.most_tiles, tile_work, z.operands, loop.clocks},
               {"rest", 1, {{"op.issue", rest}, {"byte.l2", out}}, "", outputs_rest.clocks}};
    return c;
}

// As the compiler reports for sm_90: rows as in `tiles`, then (64, 128) × (fp32, fp16).
int registers(const std::string& launch, const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 4>, 3> scores{
        {{36, 34, 40, 39}, {34, 38, 36, 38}, {34, 34, 34, 34}}};
    constexpr std::array<std::array<int, 4>, 3> outputs{
        {{40, 32, 48, 40}, {37, 38, 48, 40}, {37, 36, 46, 43}}};
    if (launch == "softmax") {
        return 32;
    }
    const std::size_t row = tile.rows == 8 ? 0 : tile.rows == 16 ? 1 : 2;
    const std::size_t column = (w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U);
    return launch == "scores" ? scores[row][column] : outputs[row][column];
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const Sizes z = sizes_of(w, tile, device);
    std::vector<Counts> launches{scores_launch(w, z, tile), softmax_launch(w, z, device),
                                 outputs_launch(w, z, tile)};
    for (Counts& c : launches) {
        c.threads = tile.threads();
        c.registers = registers(c.launch, tile, w);
        c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    }
    return launches;
}

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "naive",
    .changes = "tiles of Q, K, P and V are staged in shared memory and used by all rows of a CTA",
    .evidence =
        "LDS feeds every FMA and the loops hold no global load but the staging; shared memory "
        "without bank conflicts; S still written once and read by the two launches that follow",
};

const KernelRecord<Tile> record{
    .name = "tiled",
    .summary = "three passes on tiles in shared memory, the score matrix in global memory",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::tiled

RACELINE_KERNEL(tiled, raceline::kernels::tiled::record)

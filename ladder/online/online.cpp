// SPDX-License-Identifier: Apache-2.0
// Rung 3 of the prefill ladder: the record, and what its two launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/online/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::online {
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

std::size_t workspace(const Workload& w, const Tile&, const Device&) {
    return static_cast<std::size_t>(w.batch * w.heads_q * w.seqlen_q) * sizeof(RowTotals);
}

// A shared-memory access of a warp takes a pass for every 128 bytes that go to registers, sixteen
// bytes a lane four. Where neighbouring lanes read the same, two registers fill in one pass: two
// (forums.developer.nvidia.com/t/77228, said of compute capability 7). No access here takes more:
// see tile.hpp.
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;  // neighbouring lanes read the same sixteen bytes

// What a warp executes, read from the machine code that nvcc makes for sm_90 and held to it by a
// test. Clocks are the compiler's stall counts; waits for loads are counted as such. A staged
// element is 11.6 instructions, four columns of a score six, four keys of a column of O eight.
struct Code {
    double instructions, clocks;
};
constexpr Code totals_loop(double items, double headdim) {
    const double n = 55 + 11.6 * items + 1.5 * headdim;
    return {n, 2.8 * n};
}
constexpr Code outputs_loop(double items, double headdim) {
    const double n = 68 + 11.6 * items + 3.5 * headdim;
    return {n, 2.4 * n};
}
constexpr Code rest_code(double headdim) {  // before and after the loop, in both
    return {258 + 0.43 * headdim, 650 + 1.1 * headdim};
}

// What both launches are made of.
struct Sizes {
    TileCover cover;
    double rows, element, d;
    double items;          // elements of a staged tile of K or V a thread
    double totals;         // bytes that one launch leaves to the other
    const char* operands;  // what the first use of an operand waits for
};

// A launch whose CTAs walk over the key tiles of their rows.
Counts walk(const Workload& w, const Sizes& z, const Tile& tile, const Work& tile_work,
            double staged, double clocks) {
    Counts c;
    const double ctas = std::max(1.0, z.cover.row_tiles);
    c.ctas = static_cast<std::int64_t>(z.cover.row_tiles);
    c.threads = tile.threads();
    c.imbalance = z.cover.imbalance();
    for (const auto& [id, amount] : tile_work) {
        c.work[id] = amount * z.cover.tiles;
    }
    const Code rest = rest_code(z.d);
    const double issue = tile.threads() * rest.instructions;
    const double q_bytes = w.bytes_q() / ctas;
    const double q_passes = tile.rows * z.d / 32;
    c.work["op.issue"] += ctas * issue;
    c.work["byte.l2"] += w.bytes_q();
    c.work["byte.smem_lsu"] += ctas * q_passes * pass_bytes;
    c.bytes_in_flight = staged;
    c.steps = {{"setup",
                1,
                {{"op.issue", issue}, {"byte.l2", q_bytes}, {"byte.smem_lsu", q_passes * 128}},
                "latency.dram",
                rest.clocks},
               {"tiles", z.cover.most_tiles, tile_work, z.operands, clocks}};
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return c;
}

Counts totals_launch(const Workload& w, const Sizes& z, const Tile& tile) {
    const Code loop = totals_loop(z.items, z.d);
    const double k_bytes = tile_keys * z.d * z.element;
    // A store of every staged element; K and Q for each score, sixteen bytes at a time.
    const double passes = z.items + z.d / 4 * (shared_quad_passes + quad_passes);
    const Work tile_work{{"flop.fma.fp32", 2.0 * tile.rows * tile_keys * z.d},
                         {"op.ex2", 2.0 * tile.rows * tile_keys},
                         {"op.issue", tile.threads() * loop.instructions},
                         {"byte.smem_lsu", tile.rows * passes * pass_bytes},
                         {"byte.l2", k_bytes}};
    Counts c = walk(w, z, tile, tile_work, k_bytes, loop.clocks);
    c.launch = "totals";
    c.smem_bytes = totals_bytes(tile.rows, w.headdim);
    c.work["byte.l2"] += z.totals;
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv() / 2;
    c.work["byte.dram_write"] = z.rows * sizeof(float);  // LSE; the totals stay in the L2
    c.reread.push_back(
        {std::max(0.0, z.cover.tiles * k_bytes - w.bytes_kv() / 2), w.bytes_kv() / 2});
    return c;
}

Counts outputs_launch(const Workload& w, const Sizes& z, const Tile& tile, const Device& device) {
    const Code loop = outputs_loop(2 * z.items, z.d);
    const double kv_bytes = tile_keys * z.d * z.element * 2;
    // And a store of P, a load of V a key and column, one of P for four keys.
    const double passes = 2 * z.items + z.d / 4 * (shared_quad_passes + quad_passes) + 1 + z.d +
                          tile_keys / 4.0 * shared_quad_passes;
    const Work tile_work{{"flop.fma.fp32", 4.0 * tile.rows * tile_keys * z.d},
                         {"op.ex2", 1.0 * tile.rows * tile_keys},
                         {"op.issue", tile.threads() * loop.instructions},
                         {"byte.smem_lsu", tile.rows * passes * pass_bytes},
                         {"byte.l2", kv_bytes}};
    Counts c = walk(w, z, tile, tile_work, kv_bytes, loop.clocks);
    c.launch = "outputs";
    c.smem_bytes = outputs_bytes(tile.rows, w.headdim);
    c.work["byte.l2"] += z.totals + w.bytes_out();
    // Q and K were read by the launch before.
    const double again = w.bytes_q() + w.bytes_kv() / 2;
    const bool kept = again <= static_cast<double>(device.l2_bytes);
    c.work["byte.dram_read"] = w.bytes_kv() / 2 + (kept ? 0 : again);
    c.work["byte.dram_write"] = w.bytes_out();
    c.reread.push_back({std::max(0.0, z.cover.tiles * kv_bytes - w.bytes_kv()), w.bytes_kv()});
    return c;
}

// As the compiler reports for sm_90: rows as in `tiles`, then (64, 128) × (fp32, fp16).
int registers(const std::string& launch, const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 4>, 3> totals{
        {{50, 52, 64, 74}, {40, 40, 40, 40}, {32, 32, 42, 42}}};
    constexpr std::array<std::array<int, 4>, 3> outputs{
        {{76, 61, 76, 102}, {44, 56, 64, 64}, {47, 46, 58, 56}}};
    const std::size_t row = tile.rows == 8 ? 0 : tile.rows == 16 ? 1 : 2;
    const std::size_t column = (w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U);
    return launch == "totals" ? totals[row][column] : outputs[row][column];
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    Sizes z{};
    z.cover = cover_tiles(w, tile.rows, tile_keys);
    z.rows = static_cast<double>(w.tokens_q() * w.heads_q);
    z.element = bytes_of(w.dtype);
    z.d = static_cast<double>(w.headdim);
    z.items = z.d / tile.rows;
    z.totals = z.rows * sizeof(RowTotals);
    // Row tiles of a head pass over the same keys: all but the first find them in the L2.
    z.operands = w.seqlen_q > tile.rows ? "latency.l2" : "latency.dram";
    std::vector<Counts> launches{totals_launch(w, z, tile), outputs_launch(w, z, tile, device)};
    for (Counts& c : launches) {
        c.registers = registers(c.launch, tile, w);
    }
    return launches;
}

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "tiled",
    .changes =
        "S is never stored: one launch finds each row's maximum and sum online, a second computes "
        "the scores again (Q K^T is multiplied twice)",
    .evidence =
        "8 bytes of workspace a row instead of 4 a score; two launches; no global store in a loop; "
        "shared memory without bank conflicts",
};

const KernelRecord<Tile> record{
    .name = "online",
    .summary = "two passes with an online softmax between them, no score matrix",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::online

RACELINE_KERNEL(online, raceline::kernels::online::record)

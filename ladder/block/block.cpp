// SPDX-License-Identifier: Apache-2.0
// Rung 2 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/block/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::block {
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
constexpr double shared_quad_passes = 2;  // neighbouring lanes read the same sixteen bytes
constexpr double warps = threads / 32.0;

// What a warp executes in each role, read from the machine code that nvcc makes for sm_90 and held
// to it by a test. Clocks are the compiler's stall counts, 29 for a load of shared memory that the
// next instruction needs, 18 for an exponential; waits for global memory are counted as such.
struct Code {
    double instructions, clocks;
};
// headdim / 2 elements of K and V a thread, halves to be converted, and the rest of a tile.
constexpr Code stage_code(double headdim, bool convert) {
    return {convert ? 190 + 5.8 * headdim : 142 + 5.2 * headdim, 460 + 13.5 * headdim};
}
constexpr Code score_code(double headdim) {  // a row: a load of K and an FMA a column, Q by fours
    return {14 + 2.25 * headdim, 35 + 29 + 5.4 * headdim};
}
constexpr Code exponential_code{56 / 4.0, (174 + 29 + 18) / 4.0};  // a row
constexpr Code serial_code{100, 240 + 29};                         // 32 keys, by one warp
constexpr Code accumulate_code(double accumulators) {              // four keys
    return {8 + 8.1 * accumulators, 20 + 29 + 17 * accumulators};
}
constexpr Code rest_code(double headdim, double rows) {
    return {200 + 0.51 * headdim * rows, 700 + 1.5 * headdim * rows};
}

// As the compiler reports for sm_90: rows as in `tiles`, then (64, 128) × (fp32, fp16).
int registers(const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 4>, 2> table{{{92, 79, 167, 144}, {94, 96, 152, 200}}};
    const std::size_t column = (w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U);
    return table[tile.rows == 16 ? 0 : 1][column];
}

// One tile, role by role: what all warps do, and what the others wait for one to do.
std::vector<Step> tile_steps(const Tile& tile, double d, double element, const char* operands) {
    const double rows = tile.rows;
    const double accumulators = rows * d / threads;
    const double own = rows / warps;  // rows of a warp
    const Code stage = stage_code(d, element < 4);
    const Code score = score_code(d);
    const Code accumulate = accumulate_code(accumulators);
    const auto issue = [](double working, double instructions) {
        return working * 32 * instructions;
    };
    return {{"stage",
             1,
             {{"op.issue", issue(warps, stage.instructions)},
              {"byte.smem_lsu", warps * d / 2 * pass_bytes},
              {"byte.l2", tile_keys * d * element * 2}},
             operands,
             stage.clocks},
            {"scores",
             own,
             {{"flop.fma.fp32", 2.0 * rows * tile_keys * d / own},
              {"op.issue", issue(warps, score.instructions)},
              {"byte.smem_lsu", warps * (d + d / 4 * shared_quad_passes + 1) * pass_bytes}},
             "",
             score.clocks},
            {"maximum",
             1,
             {{"op.issue", issue(1, serial_code.instructions)},
              {"byte.smem_lsu", (tile_keys + 3) * pass_bytes}},
             "",
             serial_code.clocks},
            {"exponentials",
             own,
             {{"op.ex2", rows * tile_keys / own},
              {"op.issue", issue(warps, exponential_code.instructions)},
              {"byte.smem_lsu", warps * 3 * pass_bytes}},
             "",
             exponential_code.clocks},
            {"sum",
             1,
             {{"op.issue", issue(1, serial_code.instructions)},
              {"byte.smem_lsu", (tile_keys + 3) * pass_bytes}},
             "",
             serial_code.clocks},
            {"outputs",
             tile_keys / 4.0,
             {{"flop.fma.fp32", 2.0 * rows * 4 * d},
              {"op.issue", issue(warps, accumulate.instructions)},
              {"byte.smem_lsu", warps * 4 * (1 + accumulators) * pass_bytes}},
             "",
             accumulate.clocks}};
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const TileCover cover = cover_tiles(w, tile.rows, tile_keys);
    const auto d = static_cast<double>(w.headdim);
    const double ctas = std::max(1.0, cover.row_tiles);
    const Code rest = rest_code(d, tile.rows);
    const double kv_bytes = tile_keys * d * bytes_of(w.dtype) * 2;
    // Row tiles of a head pass over the same keys: all but the first find them in the L2.
    const char* operands = w.seqlen_q > tile.rows ? "latency.l2" : "latency.dram";
    Counts c;
    c.launch = "forward";
    c.steps = tile_steps(tile, d, bytes_of(w.dtype), operands);
    for (Step& step : c.steps) {
        for (const auto& [id, amount] : step.work) {
            c.work[id] += amount * step.repeat * cover.tiles;
        }
        step.repeat *= cover.most_tiles;
    }
    const Work once{{"op.issue", threads * rest.instructions},
                    {"byte.smem_lsu", warps * tile.rows * d / threads * pass_bytes},
                    {"byte.l2", (w.bytes_q() + w.bytes_out()) / ctas}};
    for (const auto& [id, amount] : once) {
        c.work[id] += amount * ctas;
    }
    c.steps.push_back({"rest", 1, once, "latency.dram", rest.clocks});
    c.work["byte.dram_read"] = w.bytes_q() + w.bytes_kv();
    c.work["byte.dram_write"] =
        w.bytes_out() + static_cast<double>(w.tokens_q() * w.heads_q) * sizeof(float);
    c.reread.push_back({std::max(0.0, cover.tiles * kv_bytes - w.bytes_kv()), w.bytes_kv()});
    c.ctas = static_cast<std::int64_t>(cover.row_tiles);
    c.threads = threads;
    c.registers = registers(tile, w);
    c.smem_bytes = shared_bytes(tile.rows, w.headdim);
    c.bytes_in_flight = kv_bytes;
    c.imbalance = cover.imbalance();
    c.overlap = {{"flop.fma.fp32", "byte.smem_lsu", "byte.l2", "op.ex2", "op.issue"}};
    return {c};
}

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "minimal",
    .changes =
        "a CTA takes a tile of query rows and walks over tiles of K and V in shared memory "
        "(which needs running maxima, sums and outputs); a thread a row for maximum and sum",
    .evidence =
        "the loop over keys holds the loads of a tile, 4 barriers besides the one that ends "
        "a tile, and serial runs of 32 maxima and 32 sums; no shuffle",
};

const KernelRecord<Tile> record{
    .name = "block",
    .summary = "tiles of queries, keys and values in shared memory, serial maximum and sum",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::block

RACELINE_KERNEL(block, raceline::kernels::block::record)

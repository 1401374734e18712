// SPDX-License-Identifier: Apache-2.0
// Rung 3 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ladder/warp/tile.hpp"
#include "workload/tile_cover.hpp"

namespace raceline::kernels::warp {
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
// (forums.developer.nvidia.com/t/77228, said of compute capability 7). One takes more: sixteen
// bytes of halves are 32 as floats, so that lanes store every other sixteen bytes, and eight of
// them meet in four banks.
constexpr double pass_bytes = 128;
constexpr double quad_passes = 4;
constexpr double shared_quad_passes = 2;  // neighbouring lanes read the same sixteen bytes
constexpr double warps = threads / 32.0;

// What a warp executes in each role, read from the machine code that nvcc makes for sm_90 and held
// to it by a test. Clocks are the compiler's stall counts, 29 for a load of shared memory that the
// next instruction needs, 24 for each of a reduction's shuffles; waits for global memory are
// counted as such.
struct Code {
    double instructions, clocks;
};
// A load brings an element or sixteen bytes, of halves to be converted.
constexpr Code stage_code(double items, double load, double element) {
    const double n = 50 + items * (load < 16 ? 12 : element < 4 ? 29 : 14);
    return {n, 2 * n};
}
constexpr Code row_code(double headdim) {  // one row: its scores, maximum, exponentials and sum
    return {52 + 1.5 * headdim, 92 + 5.3 * headdim};
}
constexpr Code keys_code(double quads) {  // eight keys of the output, four columns a quad
    return {13 + 34 * quads, 30 + 29 + 36.8 * quads};
}
constexpr Code rest_code(double headdim, double rows, double staged) {
    const double n = 187 + 21.4 * rows + 0.07 * rows * headdim + staged;
    return {n, 3 * n};
}
constexpr double shuffles = 10 * 24;  // of a row; those of other rows lie beside them

// As the compiler reports for sm_90: tiles as in `tiles`, then (64, 128) × (fp32, fp16).
int registers(const Tile& tile, const Workload& w) {
    constexpr std::array<std::array<int, 4>, 4> table{
        {{71, 67, 80, 72}, {104, 91, 128, 103}, {96, 96, 144, 144}, {128, 128, 168, 168}}};
    const std::size_t row = (tile.rows == 16 ? 0U : 1U) + (tile.wide != 0 ? 0U : 2U);
    const std::size_t column = (w.headdim == 128 ? 2U : 0U) + (w.dtype == DType::fp16 ? 1U : 0U);
    return table[row][column];
}

// One tile, role by role.
std::vector<Step> tile_steps(const Tile& tile, double d, double element, const char* operands) {
    const double rows = tile.rows;
    const double own = rows / warps;  // rows of a warp
    const double quads = rows * d / 4 / threads;
    const double load = tile.wide != 0 ? 16 : element;                  // bytes
    const double items = 2 * tile_keys * d * element / load / threads;  // loads a thread
    const Code stage = stage_code(items, load, element);
    const Code row = row_code(d);
    const Code keys = keys_code(quads);
    const double store_passes = load < 16 ? 1 : element < 4 ? 2 * 2 * quad_passes : quad_passes;
    const auto issue = [](double instructions) { return threads * instructions; };
    return {
        {"stage",
         1,
         {{"op.issue", issue(stage.instructions)},
          {"byte.smem_lsu", warps * items * store_passes * pass_bytes},
          {"byte.l2", tile_keys * d * element * 2}},
         operands,
         stage.clocks + shuffles},
        {"softmax",
         own,
         {{"flop.fma.fp32", 2.0 * rows * tile_keys * d / own},
          {"op.ex2", 2.0 * rows * tile_keys / own},
          {"op.issue", issue(row.instructions)},
          {"byte.smem_lsu", warps * (d / 4 * (quad_passes + shared_quad_passes) + 2) * pass_bytes}},
         "",
         row.clocks},
        {"outputs",
         tile_keys / 8.0,
         {{"flop.fma.fp32", 2.0 * rows * 8 * d},
          {"op.issue", issue(keys.instructions)},
          {"byte.smem_lsu",
           warps * (8 * quad_passes + 2 * quads * shared_quad_passes) * pass_bytes}},
         "",
         keys.clocks}};
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const TileCover cover = cover_tiles(w, tile.rows, tile_keys);
    const auto d = static_cast<double>(w.headdim);
    const double element = bytes_of(w.dtype);
    const double ctas = std::max(1.0, cover.row_tiles);
    const double load = tile.wide != 0 ? 16 : element;  // bytes
    const double items_q = tile.rows * d * element / load / threads;
    const Code rest = rest_code(d, tile.rows, stage_code(items_q, load, element).instructions - 50);
    const double kv_bytes = tile_keys * d * element * 2;
    // Row tiles of a head pass over the same keys: all but the first find them in the L2.
    const char* operands = w.seqlen_q > tile.rows ? "latency.l2" : "latency.dram";
    Counts c;
    c.launch = "forward";
    c.steps = tile_steps(tile, d, element, operands);
    for (Step& step : c.steps) {
        for (const auto& [id, amount] : step.work) {
            c.work[id] += amount * step.repeat * cover.tiles;
        }
        step.repeat *= cover.most_tiles;
    }
    const Work once{{"op.issue", threads * rest.instructions},
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
    .predecessor = "block",
    .changes =
        "maximum and sum by shuffles within the warp that has the row's scores in its lanes; "
        "sixteen bytes "
        "a load of global and of shared memory (two things: tiles with wide=0 have the first "
        "alone)",
    .evidence =
        "SHFL, ten a row and tile, in place of the serial runs; LDG.128 for the tiles with wide=1, "
        "and "
        "LDS.128 for every product; 3 barriers a tile",
};

const KernelRecord<Tile> record{
    .name = "warp",
    .summary = "row reductions by warp shuffles, loads of sixteen bytes",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tiles),
    .supports = supports,
    .counts = counts,
    .precision = precision,
    .workspace = workspace,
    .rung = &rung,
};

}  // namespace
}  // namespace raceline::kernels::warp

RACELINE_KERNEL(warp, raceline::kernels::warp::record)

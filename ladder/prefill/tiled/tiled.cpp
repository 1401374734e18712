// SPDX-License-Identifier: Apache-2.0
// Rung 2 of the prefill ladder: the record, and what its three launches move.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include <algorithm>
#include <cmath>

#include "ladder/prefill/forward.hpp"
#include "ladder/prefill/naive/softmax.hpp"

namespace raceline::kernels::tiled {

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "naive",
    .changes = "tiles of Q, K, P and V are staged in shared memory and used by all rows of a CTA",
    .evidence =
        "LDS feeds every FMA and the loops hold no global load but the staging; shared memory "
        "without bank conflicts; S still written once and read by the two launches that follow",
};

using namespace prefill;

namespace {

std::string supports(const Workload& w, const RowsTile&, const Device& device) {
    const bool fits = w.seqlen_k <= std::int64_t{65535} * tile_keys;
    return first_of(
        {beyond_floats(w, device),
         fits ? "" : "it has a row of CTAs for every 32 keys, and a grid has at most 65535 of them",
         beyond_memory(w, device)});
}

// Four FMAs and two loads for four columns; warps whose rows are masked leave before.
constexpr double scores_dot(double headdim) {
    return 6 * headdim / 4;
}
// An element staged by each thread is 12.5 to 14.6 instructions: address, load, select, store.
constexpr Code scores_code(double elements, double headdim) {
    const double n = 162 + 14.6 * elements + scores_dot(headdim);
    return {n, 2.5 * n};
}
constexpr Code outputs_loop(double elements, double headdim) {
    const double n = 53 + 12.5 * elements + 2 * headdim;
    return {n, 2.2 * n};
}
constexpr Code outputs_rest{150, 350};
// Maximum, exponentials, division: sixteen keys with two waits, four with one, four with four.
constexpr Code softmax_key{37 / 16.0 + 57 / 4.0 + 70 / 4.0, 109 / 16.0 + 136 / 4.0 + 235 / 4.0};
constexpr double softmax_waits = 2 / 16.0 + 1 / 4.0 + 4 / 4.0;

// As the compiler reports for sm_90.
constexpr std::array<std::array<int, 4>, 3> scores_registers{
    {{36, 34, 40, 39}, {34, 38, 36, 38}, {34, 34, 34, 34}}};
constexpr std::array<std::array<int, 4>, 3> outputs_registers{
    {{40, 32, 48, 40}, {37, 38, 48, 40}, {37, 36, 46, 43}}};

// What all launches are made of.
struct Sizes {
    TileCover cover;
    double rows, matrix;
    double spilled;  // of the matrix: goes to DRAM and comes back
    double element, d;
    double items_q, items_kv;  // elements of a staged tile a thread
    const char* operands;      // what the first use of an operand waits for
};

Sizes sizes_of(const Workload& w, const RowsTile& tile, const Device& device) {
    Sizes z{};
    z.cover = cover_tiles(w, tile.rows, tile_keys);
    z.rows = static_cast<double>(w.tokens_q() * w.heads_q);
    z.matrix = z.cover.pairs * sizeof(float);
    z.spilled = z.matrix > static_cast<double>(device.l2_bytes) ? z.matrix : 0;
    z.element = bytes_of(w.dtype);
    z.d = static_cast<double>(w.headdim);
    z.items_q = z.d / 32;
    z.items_kv = z.d / tile.rows;
    z.operands = operands_of(w, tile.rows);
    return z;
}

Counts scores_launch(const Workload& w, const Sizes& z, const RowsTile& tile) {
    Counts c;
    c.launch = "scores";
    c.smem_bytes = warp_bytes<ScoresShared>(tile, w);
    const Code code = scores_code(z.items_q + z.items_kv, z.d);
    const double grid = z.cover.row_tiles * std::ceil(static_cast<double>(w.seqlen_k) / tile_keys);
    c.ctas = static_cast<std::int64_t>(grid);
    c.imbalance =
        z.cover.tiles > 0 ? grid / z.cover.tiles : 1;  // those of masked tiles leave at once
    const double staged = (tile.rows + tile_keys) * z.d * z.element;
    c.work["flop.fma.fp32"] = z.cover.row_visits * tile_keys * 2 * z.d;
    c.work["op.issue"] =
        z.cover.tiles * warp_threads(tile.rows) * (code.instructions - scores_dot(z.d)) +
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
    c.steps = {{"tile", 1, share_of(c, each, 1), z.operands, code.clocks}};
    return c;
}

// As in `naive`, with as many rows a CTA as the other launches.
Counts softmax_launch(const Workload& w, const Sizes& z, const Device& device) {
    Counts c = naive::softmax_work(w, device, z.rows, z.cover.pairs, softmax_key.instructions);
    c.ctas = static_cast<std::int64_t>(z.cover.row_tiles);
    const double ctas = std::max(1.0, z.cover.row_tiles);
    const double keys = std::max(1.0, std::ceil(static_cast<double>(w.seqlen_k) / 32));  // a lane
    const double repeats = keys * softmax_waits;
    // Without keys every row does as little.
    c.imbalance =
        std::max(1.0, z.rows * static_cast<double>(w.seqlen_k) / std::max(z.cover.pairs, 1.0));
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

Counts outputs_launch(const Workload& w, const Sizes& z, const RowsTile& tile) {
    // Of a warp and tile: stores of P and V, a load of V a key and column, one of P for four keys.
    const double passes = 1 + z.items_kv + z.d + tile_keys / 4.0 * shared_quad_passes;
    const double v_bytes = z.cover.tiles * tile_keys * z.d * z.element;
    const int threads = warp_threads(tile.rows);
    Counts c = walk_counts(
        w, z.cover,
        {.launch = "outputs",
         .products = "flop.fma.fp32",
         .rows = tile.rows,
         .threads = threads,
         .registers = registers_of(outputs_registers, tile.rows, w),
         .smem_bytes = warp_bytes<ValuesShared>(tile, w),
         .tile = {role("tiles", 1, outputs_loop(z.items_kv, z.d), threads, tile.rows * passes,
                       {{"flop.fma.fp32", 2.0 * tile.rows * tile_keys * z.d},
                        {"byte.l2", (v_bytes + z.matrix) / std::max(1.0, z.cover.tiles)}})},
         .once = role("rest", 1, outputs_rest, threads, 0,
                      {{"byte.l2", w.bytes_out() / std::max(1.0, z.cover.row_tiles)}})});
    c.steps.back().waits = "";  // Q is not needed
    c.work["byte.dram_read"] = w.bytes_kv() / 2 + z.spilled;
    c.work["byte.dram_write"] = w.bytes_out();
    c.reread.push_back({std::max(0.0, v_bytes - w.bytes_kv() / 2), w.bytes_kv() / 2});
    c.bytes_in_flight = tile_keys * (z.d * z.element + 4.0 * tile.rows);
    return c;
}

std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device& device) {
    const Sizes z = sizes_of(w, tile, device);
    std::vector<Counts> launches{scores_launch(w, z, tile), softmax_launch(w, z, device),
                                 outputs_launch(w, z, tile)};
    for (Counts& c : launches) {
        c.threads = warp_threads(tile.rows);
        c.overlap = overlap_of("flop.fma.fp32");
    }
    launches[0].registers = registers_of(scores_registers, tile.rows, w);
    launches[1].registers = 32;
    return launches;
}

}  // namespace
}  // namespace raceline::kernels::tiled

RACELINE_KERNEL(
    tiled,
    record_of(rung, "three passes on tiles in shared memory, the score matrix in global memory",
              warp_tiles, {supports, counts, float_precision, matrix_bytes}))

// SPDX-License-Identifier: Apache-2.0
// Rung 2 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/block/tile.hpp"
#include "ladder/tracks/counts.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::block {

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "minimal",
    .changes =
        "a CTA takes a tile of query rows and walks over tiles of K and V in shared memory (which "
        "needs running maxima, sums and outputs); a thread a row for maximum and sum",
    .evidence =
        "the loop over keys holds the loads of a tile, 4 barriers besides the one that ends a "
        "tile, and serial runs of 32 maxima and 32 sums; no shuffle",
};

namespace {

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

// As the compiler reports for sm_90: rows as in `tiles`.
constexpr std::array<std::array<int, 4>, 2> registers{{{92, 79, 167, 144}, {94, 96, 152, 200}}};

// One tile, role by role: what all warps do, and what the others wait for one to do.
std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const double rows = tile.rows;
    const double accumulators = rows * d / threads;
    const double own = rows / warps;  // rows of a warp
    const std::vector<Step> steps{
        role("stage", 1, stage_code(d, w.dtype == DType::fp16), threads, warps * d / 2, {}),
        role("scores", own, score_code(d), threads, warps * (d + d / 4 * shared_quad_passes + 1),
             {{"flop.fma.fp32", 2.0 * rows * tile_keys * d / own}}),
        role("maximum", 1, serial_code, 32, tile_keys + 3, {}),
        role("exponentials", own, exponential_code, threads, warps * 3,
             {{"op.ex2", rows * tile_keys / own}}),
        role("sum", 1, serial_code, 32, tile_keys + 3, {}),
        role("outputs", tile_keys / 4.0, accumulate_code(accumulators), threads,
             warps * 4 * (1 + accumulators), {{"flop.fma.fp32", 2.0 * rows * 4 * d}})};
    return one_pass_counts(
        w, {.products = "flop.fma.fp32",
            .rows = tile.rows,
            .threads = threads,
            .registers = registers_of(registers[tile.rows == 16 ? 0 : 1], w),
            .smem_bytes = smem_bytes_of<Shared, 16, 32>(tile.rows, w.headdim),
            .tile = steps,
            .once = role("rest", 1, rest_code(d, rows), threads, warps * rows * d / threads, {})});
}

}  // namespace
}  // namespace raceline::kernels::block

RACELINE_KERNEL(
    block,
    record_of(rung, "tiles of queries, keys and values in shared memory, serial maximum and sum",
              tiles, {supports_floats, counts, float_precision, no_workspace}))

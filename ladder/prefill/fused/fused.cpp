// SPDX-License-Identifier: Apache-2.0
// Rung 4 of the prefill ladder: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/prefill/forward.hpp"

namespace raceline::kernels::fused {

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "online",
    .changes =
        "one pass: the output stays in registers and is rescaled when the maximum rises, so that "
        "K is read and multiplied once",
    .evidence = "one launch, no workspace; the loop over keys stores nothing to global memory",
};

using namespace prefill;

namespace {

// Clocks hold the five shuffles of the maximum (24 each, assumed) and two exponentials behind each
// other (18). A staged element is 11.6 instructions, four columns of a score six, four keys of a
// column of O eight.
constexpr Code loop_code(double elements, double headdim) {
    const double n = 83 + 11.6 * elements + 3.5 * headdim;
    return {n, 2.4 * n + 5 * 24 + 2 * 18};
}
constexpr Code rest{350, 940};  // before and after the loop

// As the compiler reports for sm_90.
constexpr std::array<std::array<int, 4>, 3> registers{
    {{64, 54, 102, 126}, {63, 60, 64, 62}, {53, 44, 64, 56}}};

std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const double elements = 2 * d / tile.rows;  // elements of staged K and V a thread and tile
    // Of a warp and tile: a store of every staged element and of P, K and Q for each score sixteen
    // bytes at a time, a load of V a key and column, one of P for four keys.
    const double passes = elements + d / 4 * (shared_quad_passes + quad_passes) + 1 + d +
                          tile_keys / 4.0 * shared_quad_passes;
    const int threads = warp_threads(tile.rows);
    return one_pass_counts(
        w, {.products = "flop.fma.fp32",
            .rows = tile.rows,
            .threads = threads,
            .registers = registers_of(registers, tile.rows, w),
            .smem_bytes = warp_bytes<BothShared>(tile, w),
            .tile = {role("tiles", 1, loop_code(elements, d), threads, tile.rows * passes,
                          {{"flop.fma.fp32", 4.0 * tile.rows * tile_keys * d},
                           {"op.ex2", 2.0 * tile.rows * tile_keys}})},
            .once = role("setup", 1, rest, threads, tile.rows * d / 32, {})});
}

}  // namespace
}  // namespace raceline::kernels::fused

RACELINE_KERNEL(fused,
                record_of(rung, "one pass, a warp a query row, output in registers, K and V staged",
                          warp_tiles, {supports_floats, counts, float_precision, no_workspace}))

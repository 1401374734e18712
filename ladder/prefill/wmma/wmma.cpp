// SPDX-License-Identifier: Apache-2.0
// Rung 5 of the prefill ladder: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/tracks/wmma.hpp"

#include "ladder/prefill/wmma/tile.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::wmma {

constexpr Rung rung{
    .track = "prefill",
    .predecessor = "fused",
    .changes =
        "both products on tensor cores, through 16 × 16 × 16 WMMA fragments (which brings fp16 "
        "operands in shared memory, sixteen query rows a warp, and scores, probabilities and "
        "factors that pass through shared memory)",
    .evidence = "HMMA for every product and no FFMA in their place; accumulators in registers",
};

namespace {

// As the compiler reports for sm_90: rows as in `tiles`, then 64, 128.
constexpr std::array<std::array<int, 2>, 2> registers{{{128, 230}, {116, 186}}};

// A staged element is 11.2 instructions.
std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const double elements =
        2 * tile_keys * d / gpu::wmma_threads(tile.rows);  // of K and V a thread
    return wmma_counts(w, {.rows = tile.rows,
                           .buffers = 1,
                           .registers = registers[tile.rows == 64 ? 0 : 1][w.headdim == 64 ? 0 : 1],
                           .loop = wmma_loop(335 + 11.2 * elements + 2.2 * d, 2.05),
                           .rest = wmma_rest(160 + 11.5 * d, 2, d),
                           .staged = elements,
                           .staged_q = d / 2});
}

}  // namespace
}  // namespace raceline::kernels::wmma

RACELINE_KERNEL(wmma, record_of(rung, "one pass, both products on tensor cores by WMMA, fp16",
                                tiles, {supports_halves, counts, half_precision, no_workspace}))

// SPDX-License-Identifier: Apache-2.0
// Rung 5 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/tensor_cores/counts.hpp"

namespace raceline::kernels::tensor_cores {

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "light_barriers",
    .changes =
        "both products on tensor cores, through 16 × 16 × 16 WMMA fragments (which brings fp16 "
        "operands in shared memory, sixteen query rows a warp, and scores, probabilities and "
        "factors that pass through shared memory)",
    .evidence =
        "HMMA for every product and no FFMA in their place; accumulators in registers; one BAR in "
        "the loop",
};

namespace {

// As the compiler reports for sm_90: rows as in `tiles`, then 64, 128.
constexpr std::array<std::array<int, 2>, 2> registers{{{104, 168}, {106, 139}}};

// A staged element is 11.2 instructions.
std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const double loads = loads_of(tile.rows, d);
    return buffered_counts(
        w, tile.rows, registers[tile.rows == 32 ? 0 : 1][w.headdim == 64 ? 0 : 1],
        wmma_loop(350 + 14 * loads + 1.9 * d, 2.2), wmma_rest(213 + 5.95 * d, 2.2, d));
}

}  // namespace
}  // namespace raceline::kernels::tensor_cores

RACELINE_KERNEL(tensor_cores, record_of(rung, "both products on tensor cores by WMMA, fp16", tiles,
                                        {supports_halves, counts, half_precision, no_workspace}))

// SPDX-License-Identifier: Apache-2.0
// Rung 6 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/tensor_cores/counts.hpp"
#include "ladder/from_scratch/wide_vectors/tile.hpp"

namespace raceline::kernels::wide_vectors {

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "tensor_cores",
    .changes =
        "256 threads, and sixteen bytes to every load and store of the softmax and the output too "
        "(which brings 128 query rows a CTA: a fourth of the CTAs of 32 rows)",
    .evidence =
        "STG.128 and no narrower store of the output; P stored by STS.128; registers within the "
        "budget of 256 threads, no spill",
};

namespace {

// A staged element is 11.2 instructions.
std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const double loads = loads_of(tile.rows, d);
    return buffered_counts(w, tile.rows, w.headdim == 64 ? 105 : 136,
                           wmma_loop(298 + 14 * loads + 2.73 * d, 2.15),
                           wmma_rest(352 + 4.94 * d, 2.1, d));
}

}  // namespace
}  // namespace raceline::kernels::wide_vectors

RACELINE_KERNEL(wide_vectors,
                record_of(rung, "tensor cores, 256 threads, sixteen bytes to every access", tiles,
                          {supports_halves, counts, half_precision, no_workspace}))

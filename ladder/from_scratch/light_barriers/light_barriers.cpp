// SPDX-License-Identifier: Apache-2.0
// Rung 4 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/light_barriers/tile.hpp"
#include "ladder/from_scratch/warp/counts.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::light_barriers {

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "warp",
    .changes =
        "one CTA barrier a tile, the fewest for a tile that all warps fill and read (which brings "
        "a second buffer for K and V; a warp keeps to its own rows in the output too)",
    .evidence = "one BAR in the loop over keys",
};

namespace {

// As the compiler reports for sm_90: rows as in `tiles`.
constexpr std::array<std::array<int, 4>, 2> registers{{{80, 79, 92, 84}, {106, 96, 128, 104}}};

std::vector<Counts> counts(const Workload& w, const RowsTile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    return warp::warp_counts(w, {tile.rows,
                                 16,
                                 {52 + 1.5 * d, 100 + 4.6 * d},
                                 1,
                                 registers_of(registers[tile.rows == 16 ? 0 : 1], w),
                                 smem_bytes_of<Shared, 16, 32>(tile.rows, w.headdim)});
}

}  // namespace
}  // namespace raceline::kernels::light_barriers

RACELINE_KERNEL(light_barriers, record_of(rung, "one barrier a tile, K and V in two buffers", tiles,
                                          {supports_floats, counts, float_precision, no_workspace}))

// SPDX-License-Identifier: Apache-2.0
// Rung 3 from scratch: the record, and what its one launch moves.
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#include "ladder/from_scratch/warp/counts.hpp"
#include "ladder/from_scratch/warp/tile.hpp"
#include "ladder/tracks/record.hpp"

namespace raceline::kernels::warp {

constexpr Rung rung{
    .track = "from-scratch",
    .predecessor = "block",
    .changes =
        "maximum and sum by shuffles within the warp that has the row's scores in its lanes; "
        "sixteen bytes a load of global and of shared memory (two things: tiles with wide=0 have "
        "the first alone)",
    .evidence =
        "SHFL, ten a row and tile, in place of the serial runs; LDG.128 for the tiles with "
        "wide=1, and LDS.128 for every product; 3 barriers a tile",
};

namespace {

// As the compiler reports for sm_90: tiles as in `tiles`.
constexpr std::array<std::array<int, 4>, 4> registers{
    {{71, 67, 80, 72}, {104, 91, 128, 103}, {96, 96, 144, 144}, {128, 128, 168, 168}}};

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device&) {
    const auto d = static_cast<double>(w.headdim);
    const std::size_t row = (tile.rows == 16 ? 0U : 1U) + (tile.wide != 0 ? 0U : 2U);
    const double load = tile.wide != 0 ? 16 : bytes_of(w.dtype);
    return warp_counts(w, {tile.rows,
                           load,
                           {52 + 1.5 * d, 92 + 5.3 * d},
                           2,
                           registers_of(registers[row], w),
                           smem_bytes_of<Shared, 16, 32>(tile.rows, w.headdim)});
}

}  // namespace
}  // namespace raceline::kernels::warp

RACELINE_KERNEL(warp, record_of(rung, "row reductions by warp shuffles, loads of sixteen bytes",
                                tiles, {supports_floats, counts, float_precision, no_workspace}))

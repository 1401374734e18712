// SPDX-License-Identifier: Apache-2.0
// What a launch of `attend` declares.
#pragma once

#include "gpu/tile/wmma_shared.hpp"
#include "ladder/from_scratch/tensor_cores/tile.hpp"
#include "ladder/tracks/record.hpp"
#include "ladder/tracks/wmma.hpp"

namespace raceline::kernels::tensor_cores {

/// Loads of K and V a thread and tile, of sixteen bytes.
constexpr double loads_of(int rows, double headdim) {
    return 2 * tile_keys * headdim / 8 / gpu::wmma_threads(rows);
}

/// `loop` is the code of one tile; `rest` that of staging Q, and of the output's way through shared
/// memory.
inline std::vector<Counts> buffered_counts(const Workload& w, int rows, int registers, Code loop,
                                           Code rest) {
    const auto d = static_cast<double>(w.headdim);
    return wmma_counts(w, {.rows = rows,
                           .buffers = 2,
                           .registers = registers,
                           .loop = loop,
                           .rest = rest,
                           .staged = quad_passes * loads_of(rows, d),
                           .staged_q = quad_passes * d / 16});
}

}  // namespace raceline::kernels::tensor_cores

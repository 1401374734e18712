// SPDX-License-Identifier: Apache-2.0
// What the rungs of the prefill ladder say alike to the registry and the model.
#pragma once

#include <string>

#include "ladder/prefill/rows.hpp"
#include "ladder/tracks/counts.hpp"
#include "ladder/tracks/record.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::prefill {

/// Why not: a score matrix that takes more than half of the device's memory.
std::string beyond_memory(const Workload& w, const Device& device);
/// Bytes of the score matrix.
template <class Tile>
std::size_t matrix_bytes(const Workload& w, const Tile&, const Device&) {
    return static_cast<std::size_t>(w.batch * w.heads_q * w.seqlen_q * w.seqlen_k) * sizeof(float);
}

/// Of a table for `warp_tiles`: (64, 128) × (fp32, fp16).
int registers_of(const std::array<std::array<int, 4>, 3>& table, int rows, const Workload& w);

template <template <int, int> class Shared>
std::int64_t warp_bytes(const RowsTile& tile, const Workload& w) {
    return smem_bytes_of<Shared, 8, 16, 32>(tile.rows, w.headdim);
}

/// Of the work of a launch on the chip, the part of one of `ctas` in one of its `repeats`.
Work share_of(const Counts& launch, double ctas, double repeats);

}  // namespace raceline::kernels::prefill

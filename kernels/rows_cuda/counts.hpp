// SPDX-License-Identifier: Apache-2.0
// What the host knows of a chain on rows, and what a call of it does.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rows_cuda/tile.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::rows_cuda {

RowProgram program_of(const Workload& w);

inline std::int64_t element_bytes(const Workload& w) {
    return static_cast<std::int64_t>(bytes_of(w.dtype));
}

/// Whether every chunk is whole: has_whole_chunks().
bool is_whole(const RowProgram& program, const Workload& w);

/// Whether a chain has code that knows it, for rows of whole chunks.
bool is_compiled(const RowProgram& program, const Workload& w);

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::rows_cuda

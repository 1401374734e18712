// SPDX-License-Identifier: Apache-2.0
// What a launch whose warps have rows and reduce them by shuffles declares.
#pragma once

#include "ladder/from_scratch/rows.hpp"
#include "ladder/tracks/counts.hpp"

namespace raceline::kernels::warp {

/// What a rung adds: bytes of a load from global memory, the code of one row (its scores, maximum,
/// exponentials and sum) and its passes through shared memory beside those of Q and K.
struct WarpRows {
    int rows;
    double load;
    tracks::Code row;
    double row_passes;
    int registers;
    std::int64_t smem_bytes;
};
std::vector<Counts> warp_counts(const Workload& w, const WarpRows& its);

}  // namespace raceline::kernels::warp

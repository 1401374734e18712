// SPDX-License-Identifier: Apache-2.0
// What CTAs leave of a unit that several of them read: where it lies, and how it is brought
// together.
#pragma once

#include "kernels/decode_sm90/finish.cuh"

namespace raceline::kernels::decode_sm90 {

/// Of the unit that a walk through `part` of the line is at.
__device__ __forceinline__ Parts parts_of(const Cuts& line, const Walk& walk, std::int32_t part) {
    const std::int32_t at = line.begin(part + 1) - walk.left - (walk.end - walk.block);
    const std::int32_t begin = at - (walk.block - walk.unit.first);
    return {walk.block == walk.unit.first ? part : line.part_of(begin),
            walk.end == walk.unit.last ? part : line.part_of(begin + walk.unit.count() - 1)};
}

__device__ __forceinline__ RowSum sum_of(const Params& p, std::int32_t slot) {
    return reinterpret_cast<const RowSum*>(p.partial_sums)[slot];
}
/// Rows of a unit.
__device__ __forceinline__ std::int32_t rows_of(const Params& p, const Walk& walk) {
    return smaller(tile_rows, walk.sequence.band.length_q * p.group - walk.row_tile * tile_rows);
}

}  // namespace raceline::kernels::decode_sm90

// SPDX-License-Identifier: Apache-2.0
// A warp's query row: in the scores a lane is a key, in the output it has every 32nd column.
#pragma once

#include "gpu/tile/stage.cuh"
#include "gpu/tile/warp_scores.cuh"
#include "ladder/prefill/rows.hpp"
#include "ladder/tracks/launch.cuh"

namespace raceline::kernels::prefill {

/// The row of this warp in its CTA's tile, and what its lane is.
struct WarpRow : gpu::RowTile {
    int warp = static_cast<int>(threadIdx.x / 32);
    int lane = static_cast<int>(threadIdx.x % 32);
    int query = first + warp;
    int seen;  ///< keys, none if the sequence has no such query

    __device__ WarpRow(const AttentionArgs& a, int rows)
        : RowTile(a, rows), seen(query < a.seqlen_q ? keys(a, query) : 0) {}
};

/// O += P V of a staged tile, of one row.
template <int columns, int keys, int headdim>
__device__ void add_values(float (&outputs)[columns], const float (&p)[keys],
                           const float (&v)[keys][headdim], int lane) {
#pragma unroll
    for (int i = 0; i < keys; i += 4) {
        const float4 four = gpu::quad(p + i);
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            const float* at = v[i] + lane + 32 * c;
            outputs[c] =
                gpu::dot(four, {at[0], at[headdim], at[2 * headdim], at[3 * headdim]}, outputs[c]);
        }
    }
}

/// A lane's columns of an output row, if the sequence has it.
template <class T, int columns>
__device__ void store_row(const WarpRow& at, const AttentionArgs& a,
                          const float (&outputs)[columns]) {
    if (at.query < a.seqlen_q) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            gpu::store(at.token<T>(a.out, at.query) + at.lane + 32 * c, outputs[c]);
        }
    }
}

}  // namespace raceline::kernels::prefill

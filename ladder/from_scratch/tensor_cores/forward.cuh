// SPDX-License-Identifier: Apache-2.0
// `light_barriers` with both products on tensor cores: a warp has sixteen query rows, and what is
// done row by row happens in shared memory (gpu/tile/wmma_rows.cuh).
#pragma once

#include "gpu/tile/stage.cuh"
#include "gpu/tile/wmma_rows.cuh"
#include "ladder/from_scratch/launch.cuh"
#include "ladder/from_scratch/tensor_cores/tile.hpp"

namespace raceline::kernels::tensor_cores {

template <int rows, int headdim>
using Shared = WmmaShared<__half, rows, headdim, 2>;

/// What a CTA does; `Lanes` says what of a row a lane has.
template <int rows, int headdim, class Lanes>
__device__ void attend(const AttentionArgs& a) {
    constexpr int columns = headdim / side;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const gpu::RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const Lanes lanes;
    const int query = at.first + warp * side + lanes.row;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    auto& s = shared.s[warp];
    auto& p = shared.p[warp];
    gpu::stage<gpu::wmma_threads(rows), headdim, __half, uint4>(shared.q, at, a.q, at.first,
                                                                a.seqlen_q);

    gpu::Accumulator outputs[columns];  // of sixteen rows, not yet divided by the rows' sums
    gpu::clear(outputs);
    // Of the row so far, the same in both lanes; finite, so that differences of it are numbers.
    float highest = -FLT_MAX;
    float sum = 0;  // of this lane's exponentials
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        const int buffer = first_key / tile_keys % 2;
        gpu::stage<gpu::wmma_threads(rows), headdim, __half, uint4>(shared.k[buffer], at, a.k,
                                                                    first_key, a.seqlen_k);
        gpu::stage<gpu::wmma_threads(rows), headdim, __half, uint4>(shared.v[buffer], at, a.v,
                                                                    first_key, a.seqlen_k);
        __syncthreads();  // the only one
        gpu::multiply_scores<headdim>(s, &shared.q[warp * side], shared.k[buffer]);
        __syncwarp();

        typename Lanes::Group x[tile_keys / Lanes::width / 2];
        const float before = highest;
        highest = gpu::load_scores(lanes, x, s, a.scale, keys, first_key, highest);
        const float rescale = gpu::store_probabilities(lanes, x, p, before, highest, sum);
        gpu::scale_rows(lanes, outputs, shared.factors[warp], rescale);  // P is stored by all, too
        gpu::multiply_values(outputs, p, shared.v[buffer]);
        __syncwarp();
    }

    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, Lanes::partner);
    gpu::scale_rows(lanes, outputs, shared.factors[warp], keys > 0 ? 1 / sum : 0);
    store_rows(lanes, outputs, s, a, at, query);
    if (lanes.part == 0 && query < a.seqlen_q && a.lse != nullptr) {
        at.lse(a, query) = keys > 0 ? highest + logf(sum) : -INFINITY;
    }
}

}  // namespace raceline::kernels::tensor_cores

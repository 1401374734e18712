// SPDX-License-Identifier: Apache-2.0
// `fused` with both products on tensor cores: a warp has sixteen query rows, and what is done row
// by row happens in shared memory (gpu/tile/wmma_rows.cuh). Of a row, two lanes have every other
// four columns each.
#include "gpu/tile/stage.cuh"
#include "gpu/tile/wmma_rows.cuh"
#include "ladder/prefill/wmma/tile.hpp"
#include "ladder/tracks/launch.cuh"

namespace raceline::kernels::wmma {

template <int rows, int headdim>
using Shared = WmmaShared<__half, rows, headdim, 1>;

namespace {

template <int index, int headdim>
__global__ void __launch_bounds__(gpu::wmma_threads(tiles[index].rows))
    forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    constexpr int threads = gpu::wmma_threads(rows);
    constexpr int columns = headdim / side;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const gpu::RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const gpu::Quads lanes;
    const int query = at.first + warp * side + lanes.row;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    auto& s = shared.s[warp];
    auto& p = shared.p[warp];
    gpu::stage<threads, headdim, __half>(shared.q, at, a.q, at.first, a.seqlen_q);

    gpu::Accumulator outputs[columns];  // of sixteen rows, not yet divided by the rows' sums
    gpu::clear(outputs);
    // Of the row so far, the same in both lanes; finite, so that differences of it are numbers.
    float highest = -FLT_MAX;
    float sum = 0;  // of this lane's exponentials
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        gpu::stage<threads, headdim, __half>(shared.k[0], at, a.k, first_key, a.seqlen_k);
        gpu::stage<threads, headdim, __half>(shared.v[0], at, a.v, first_key, a.seqlen_k);
        __syncthreads();
        gpu::multiply_scores<headdim>(s, &shared.q[warp * side], shared.k[0]);
        __syncwarp();

        float4 x[tile_keys / 8];
        const float before = highest;
        highest = gpu::load_scores(lanes, x, s, a.scale, keys, first_key, highest);
        const float rescale = gpu::store_probabilities(lanes, x, p, before, highest, sum);
        gpu::scale_rows(lanes, outputs, shared.factors[warp], rescale);  // P is stored by all, too
        gpu::multiply_values(outputs, p, shared.v[0]);
    }

    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    __syncwarp();  // the last factors have been read by all
    gpu::scale_rows(lanes, outputs, shared.factors[warp], keys > 0 ? 1 / sum : 0);
    gpu::store_rows(lanes, outputs, s, a, at, query);
    if (lanes.part == 0 && query < a.seqlen_q && a.lse != nullptr) {
        at.lse(a, query) = keys > 0 ? highest + logf(sum) : -INFINITY;
    }
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device&, void*, void* stream) {
    launch_rows<tiles, Shared>("wmma", a, tile, stream, [](auto index, auto headdim, auto) {
        return RowsCode{forward<index, headdim>, gpu::wmma_threads(tiles[index].rows)};
    });
}

}  // namespace raceline::kernels::wmma

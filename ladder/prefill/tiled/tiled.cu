// SPDX-License-Identifier: Apache-2.0
// The three launches of `naive` with their operands in shared memory: a CTA takes a tile of query
// rows, a warp each, and what it needs of K or V is read from global memory once for all of them.
// The score matrix S is still written to global memory and read back.
#include "ladder/prefill/naive/softmax.cuh"
#include "ladder/prefill/warp_row.cuh"

namespace raceline::kernels::tiled {

using namespace gpu;
using namespace prefill;

namespace {

// A query's row of S.
__device__ float* scores_of(const AttentionArgs& a, const RowTile& at, float* s, int query) {
    return s + ((std::int64_t{at.batch} * a.heads_q + at.head) * a.seqlen_q + query) * a.seqlen_k;
}

// A CTA writes a tile of S; a warp one row of it, a lane one score. Grid: x over tiles of rows, y
// over tiles of keys.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    scores(const __grid_constant__ AttentionArgs a, float* s) {
    constexpr int rows = warp_tiles[index].rows;
    auto& shared = *reinterpret_cast<ScoresShared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int first_key = static_cast<int>(blockIdx.y) * tile_keys;
    if (first_key >= at.most_keys(a, rows)) {
        return;  // masked for all rows; the whole CTA leaves
    }
    stage<rows * 32, headdim, T>(shared.q, at, a.q, at.first, a.seqlen_q);
    stage<rows * 32, headdim, T>(shared.k, at, a.k, first_key, a.seqlen_k);
    __syncthreads();

    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int key = first_key + lane;
    if (query >= a.seqlen_q || key >= at.keys(a, query)) {
        return;  // neither computed nor read later
    }
    const float sum = score<headdim>(shared.q[warp], shared.k[lane]);
    scores_of(a, at, s, query)[key] = sum * a.scale;
}

// One warp a row: maximum, exponentials and their sum, division. Three sweeps over the row.
template <int index>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    softmax(const __grid_constant__ AttentionArgs a, float* s) {
    const RowTile at(a, warp_tiles[index].rows);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + static_cast<int>(threadIdx.x / 32);
    if (query >= a.seqlen_q) {
        return;  // the whole warp leaves together
    }
    const int keys = at.keys(a, query);
    const naive::Totals totals = naive::softmax_row(scores_of(a, at, s, query), keys, lane);
    if (lane == 0 && a.lse != nullptr) {
        at.lse(a, query) = keys > 0 ? totals.highest + logf(totals.sum) : -INFINITY;
    }
}

// A warp has one row of O, a lane every 32nd column of it; P and V pass by in tiles of keys.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    outputs(const __grid_constant__ AttentionArgs a, float* s) {
    constexpr int rows = warp_tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<ValuesShared<rows, headdim>*>(dynamic_shared);
    const WarpRow at(a, rows);
    const int most_keys = at.most_keys(a, rows);

    float sums[columns] = {};
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        const int key = first_key + at.lane;
        shared.p[at.warp][at.lane] = key < at.seen ? scores_of(a, at, s, at.query)[key] : 0;
        stage<rows * 32, headdim, T>(shared.v, at, a.v, first_key, a.seqlen_k);
        __syncthreads();
        add_values(sums, shared.p[at.warp], shared.v, at.lane);
    }
    store_row<T>(at, a, sums);
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device&, void* workspace, void* stream) {
    with_instance<warp_tiles.size()>(a, tile, [&](auto index, auto headdim, auto element) {
        using T = decltype(element);
        constexpr int rows = warp_tiles[index].rows;
        constexpr int threads = warp_threads(rows);
        auto* s = static_cast<float*>(workspace);
        const unsigned tiles = row_tiles(a, rows);
        if (a.seqlen_k > 0) {
            enqueue("tiled: the scores", scores<index, headdim, T>,
                    {{tiles, blocks(a.seqlen_k, tile_keys)},
                     threads,
                     sizeof(ScoresShared<rows, headdim>),
                     stream},
                    a, s);
        }
        enqueue("tiled: the softmax", softmax<index>, {tiles, threads, 0, stream}, a, s);
        enqueue("tiled: the outputs", outputs<index, headdim, T>,
                {tiles, threads, sizeof(ValuesShared<rows, headdim>), stream}, a, s);
    });
}

}  // namespace raceline::kernels::tiled

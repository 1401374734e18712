// SPDX-License-Identifier: Apache-2.0
// Softmax without S in memory: a first pass over the keys finds every row's maximum and sum, a
// second one computes the same scores again and turns them into probabilities as it goes. What
// passes from one launch to the other is two floats a row. Tiles and lanes are as in `tiled`.
#include "ladder/prefill/online/totals.hpp"
#include "ladder/prefill/warp_row.cuh"

namespace raceline::kernels::online {

using namespace gpu;
using namespace prefill;

namespace {

__device__ RowTotals& totals_of(const AttentionArgs& a, const RowTile& at, RowTotals* all,
                                int query) {
    return all[(std::int64_t{at.batch} * a.heads_q + at.head) * a.seqlen_q + query];
}

// First pass: a warp a row, a lane every 32nd key. A lane keeps the maximum of the scores it has
// met, and their sum of exponentials taken from that maximum: when it rises, the sum is rescaled.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    totals(const __grid_constant__ AttentionArgs a, RowTotals* all) {
    constexpr int rows = warp_tiles[index].rows;
    auto& shared = *reinterpret_cast<ScoresShared<rows, headdim>*>(dynamic_shared);
    const WarpRow at(a, rows);
    const int most_keys = at.most_keys(a, rows);
    stage<rows * 32, headdim, T>(shared.q, at, a.q, at.first, a.seqlen_q);

    float highest = -INFINITY;
    float sum = 0;
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim, T>(shared.k, at, a.k, first_key, a.seqlen_k);
        __syncthreads();
        if (first_key + at.lane < at.seen) {
            const float s = score<headdim>(shared.q[at.warp], shared.k[at.lane]) * a.scale;
            const float before = highest;
            highest = fmaxf(highest, s);
            // Relative to 0 while all scores are -inf, whose differences are no numbers.
            const float base = highest == -INFINITY ? 0 : highest;
            sum = sum * expf(before - base) + expf(s - base);
        }
    }
    // The lanes' sums brought to one maximum; a lane that met no key adds nothing.
    const float top = max_over_warp(highest);
    const float mine = sum == 0 ? 0 : sum * expf(highest - top);  // NaN stays
    const float total = sum_over_warp(mine);
    if (at.lane == 0 && at.query < a.seqlen_q) {
        totals_of(a, at, all, at.query) = {top, total};
        if (a.lse != nullptr) {
            at.lse(a, at.query) = at.seen > 0 ? top + logf(total) : -INFINITY;
        }
    }
}

// Second pass: the same scores again, now as probabilities; then as in `tiled` a warp has one row
// of O, a lane every 32nd column of it.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    outputs(const __grid_constant__ AttentionArgs a, RowTotals* all) {
    constexpr int rows = warp_tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<BothShared<rows, headdim>*>(dynamic_shared);
    const WarpRow at(a, rows);
    const int most_keys = at.most_keys(a, rows);
    const RowTotals row = at.query < a.seqlen_q ? totals_of(a, at, all, at.query) : RowTotals{0, 1};
    const float inverse = 1 / row.sum;
    stage<rows * 32, headdim, T>(shared.q, at, a.q, at.first, a.seqlen_q);

    float sums[columns] = {};
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim, T>(shared.k, at, a.k, first_key, a.seqlen_k);
        stage<rows * 32, headdim, T>(shared.v, at, a.v, first_key, a.seqlen_k);
        __syncthreads();
        const float s = score<headdim>(shared.q[at.warp], shared.k[at.lane]) * a.scale;
        shared.p[at.warp][at.lane] =
            first_key + at.lane < at.seen ? expf(s - row.highest) * inverse : 0;
        __syncwarp();  // only this warp reads its row of P
        add_values(sums, shared.p[at.warp], shared.v, at.lane);
    }
    store_row<T>(at, a, sums);
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device&, void* workspace, void* stream) {
    with_instance<warp_tiles.size()>(a, tile, [&](auto index, auto headdim, auto element) {
        constexpr int rows = warp_tiles[index].rows;
        auto* all = static_cast<RowTotals*>(workspace);
        enqueue(
            "online: the totals", totals<index, headdim, decltype(element)>,
            {row_tiles(a, rows), warp_threads(rows), sizeof(ScoresShared<rows, headdim>), stream},
            a, all);
        enqueue("online: the outputs", outputs<index, headdim, decltype(element)>,
                {row_tiles(a, rows), warp_threads(rows), sizeof(BothShared<rows, headdim>), stream},
                a, all);
    });
}

}  // namespace raceline::kernels::online

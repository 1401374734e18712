// SPDX-License-Identifier: Apache-2.0
// Everything in one pass: a warp has one query row and keeps its output in registers while tiles of
// K and V pass by. When the row's maximum rises, sum and output so far are rescaled to the new one.
// Tiles and lanes are as in `online`.
#include <cfloat>

#include "ladder/prefill/warp_row.cuh"

namespace raceline::kernels::fused {

using namespace gpu;
using namespace prefill;

namespace {

// A warp a row: in the scores a lane is a key, in the output every 32nd column.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(warp_threads(warp_tiles[index].rows))
    forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = warp_tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<BothShared<rows, headdim>*>(dynamic_shared);
    const WarpRow at(a, rows);
    const int most_keys = at.most_keys(a, rows);
    stage<rows * 32, headdim, T>(shared.q, at, a.q, at.first, a.seqlen_q);

    // Of the row so far, the same in all lanes; finite, so that differences of it are numbers.
    float highest = -FLT_MAX;
    float sum = 0;                // of this lane's exponentials
    float outputs[columns] = {};  // of this lane, not yet divided by the row's sum
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim, T>(shared.k, at, a.k, first_key, a.seqlen_k);
        stage<rows * 32, headdim, T>(shared.v, at, a.v, first_key, a.seqlen_k);
        __syncthreads();
        float s = score<headdim>(shared.q[at.warp], shared.k[at.lane]) * a.scale;
        s = first_key + at.lane < at.seen ? s : -INFINITY;
        const float before = highest;
        highest = fmaxf(highest, max_over_warp(s));
        const float rescale = expf(before - highest);
        const float p = expf(s - highest);
        sum = sum * rescale + p;
        shared.p[at.warp][at.lane] = p;
        __syncwarp();  // only this warp reads its row of P
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            outputs[c] *= rescale;
        }
        add_values(outputs, shared.p[at.warp], shared.v, at.lane);
    }
    if (at.query >= a.seqlen_q) {
        return;
    }
    const float total = sum_over_warp(sum);
    const float inverse = at.seen > 0 ? 1 / total : 0;
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        store(at.token<T>(a.out, at.query) + at.lane + 32 * c, outputs[c] * inverse);
    }
    if (at.lane == 0 && a.lse != nullptr) {
        at.lse(a, at.query) = at.seen > 0 ? highest + logf(total) : -INFINITY;
    }
}

}  // namespace

void launch(const AttentionArgs& a, int tile, const Device&, void*, void* stream) {
    launch_rows<warp_tiles, BothShared>(
        "fused", a, tile, stream, [](auto index, auto headdim, auto element) {
            return RowsCode{forward<index, headdim, decltype(element)>,
                            warp_threads(warp_tiles[index].rows)};
        });
}

}  // namespace raceline::kernels::fused

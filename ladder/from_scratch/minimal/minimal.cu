// SPDX-License-Identifier: Apache-2.0
// The shortest attention that is one launch: a CTA has one query row and holds all its scores in
// shared memory. Every thread takes keys for the scores and columns for the output; the maximum and
// the sum of the row are left to one thread.
#include "gpu/tile/row_tile.cuh"
#include "ladder/from_scratch/minimal/tile.hpp"
#include "ladder/tracks/launch.cuh"

namespace raceline::kernels::minimal {

using namespace gpu;
using namespace tracks;

namespace {

template <int threads, int headdim, class T>
__global__ void __launch_bounds__(threads) forward(const __grid_constant__ AttentionArgs a) {
    __shared__ float highest;
    __shared__ float sum;
    float* q = reinterpret_cast<float*>(dynamic_shared);
    float* scores = q + headdim;
    const QueryRow row(a, static_cast<int>(blockIdx.x));
    const int me = static_cast<int>(threadIdx.x);
    for (int d = me; d < headdim; d += threads) {
        q[d] = to_float(row.token<T>(a.q, row.query)[d]);
    }
    __syncthreads();

    for (int key = me; key < row.keys; key += threads) {
        const T* k = row.token<T>(a.k, key);
        float score = 0;
#pragma unroll 16
        for (int d = 0; d < headdim; ++d) {
            score = fmaf(q[d], to_float(k[d]), score);
        }
        scores[key] = score * a.scale;
    }
    __syncthreads();

    if (me == 0) {
        float most = -INFINITY;
        for (int key = 0; key < row.keys; ++key) {
            most = fmaxf(most, scores[key]);
        }
        highest = most;
    }
    __syncthreads();
    for (int key = me; key < row.keys; key += threads) {
        scores[key] = expf(scores[key] - highest);
    }
    __syncthreads();
    if (me == 0) {
        float total = 0;
        for (int key = 0; key < row.keys; ++key) {
            total += scores[key];
        }
        sum = total;
        if (a.lse != nullptr) {
            row.lse(a, row.query) = row.keys > 0 ? highest + logf(total) : -INFINITY;
        }
    }
    __syncthreads();

    for (int column = me; column < headdim; column += threads) {
        float out = 0;
        for (int key = 0; key < row.keys; ++key) {
            out = fmaf(scores[key], to_float(row.token<T>(a.v, key)[column]), out);
        }
        store(row.token<T>(a.out, row.query) + column, row.keys > 0 ? out / sum : 0);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    with_instance<tiles.size()>(args, tile, [&](auto index, auto headdim, auto element) {
        constexpr int threads = tiles[index].threads;
        enqueue("minimal", forward<threads, headdim, decltype(element)>,
                {row_tiles(args, 1), threads,
                 static_cast<std::size_t>(shared_bytes(headdim, args.seqlen_k)), stream},
                args);
    });
}

}  // namespace raceline::kernels::minimal

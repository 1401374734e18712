// SPDX-License-Identifier: Apache-2.0
// `minimal` in tiles: a CTA has several query rows and walks over tiles of K and V in shared
// memory, so that what it reads serves all its rows, and keeps running maxima, sums and outputs.
// Maximum and sum of a row are still left to one thread, now one for every row.
#include <cfloat>

#include "gpu/tile/stage.cuh"
#include "ladder/from_scratch/block/tile.hpp"
#include "ladder/tracks/launch.cuh"

namespace raceline::kernels::block {

using namespace gpu;

namespace {

// The roles of a tile, each between two barriers. In scores and exponentials a lane is a key and a
// warp every fourth row; for maximum and sum a thread is a row.
constexpr int warps = threads / 32;

template <int rows, int headdim>
__device__ void scores(Shared<rows, headdim>& shared, const RowTile& at, const AttentionArgs& a,
                       int first_key) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x / 32); row < rows; row += warps) {
        float sum = 0;
#pragma unroll
        for (int d = 0; d < headdim; ++d) {
            sum = fmaf(shared.q[row][d], shared.k[lane][d], sum);
        }
        const bool seen = first_key + lane < at.keys(a, at.first + row);
        shared.s[row][lane] = seen ? sum * a.scale : -INFINITY;
    }
}

template <int rows, int headdim>
__device__ void maximum(Shared<rows, headdim>& shared, int row) {
    const float before = shared.highest[row];
    float highest = before;
    for (int key = 0; key < tile_keys; ++key) {
        highest = fmaxf(highest, shared.s[row][key]);
    }
    shared.highest[row] = highest;
    shared.rescale[row] = expf(before - highest);
}

template <int rows, int headdim>
__device__ void exponentials(Shared<rows, headdim>& shared) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int row = static_cast<int>(threadIdx.x / 32); row < rows; row += warps) {
        shared.s[row][lane] = expf(shared.s[row][lane] - shared.highest[row]);
    }
}

template <int rows, int headdim>
__device__ void total(Shared<rows, headdim>& shared, int row) {
    float sum = shared.sum[row] * shared.rescale[row];
    for (int key = 0; key < tile_keys; ++key) {
        sum += shared.s[row][key];
    }
    shared.sum[row] = sum;
}

// A thread has one column of O and every (threads / headdim)th row.
template <int rows, int headdim, int count>
__device__ void accumulate(const Shared<rows, headdim>& shared, float (&outputs)[count]) {
    constexpr int step = threads / headdim;
    const int column = static_cast<int>(threadIdx.x) % headdim;
    const int first = static_cast<int>(threadIdx.x) / headdim;
#pragma unroll
    for (int i = 0; i < count; ++i) {
        outputs[i] *= shared.rescale[first + i * step];
    }
#pragma unroll 4
    for (int key = 0; key < tile_keys; ++key) {
        const float v = shared.v[key][column];
#pragma unroll
        for (int i = 0; i < count; ++i) {
            outputs[i] = fmaf(shared.s[first + i * step][key], v, outputs[i]);
        }
    }
}

template <int index, int headdim, class T>
__global__ void __launch_bounds__(threads) forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    constexpr int step = threads / headdim;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int me = static_cast<int>(threadIdx.x);
    const int most_keys = at.most_keys(a, rows);
    stage<threads, headdim, T>(shared.q, at, a.q, at.first, a.seqlen_q);
    if (me < rows) {
        shared.highest[me] = -FLT_MAX;  // finite, so that differences of it are numbers
        shared.sum[me] = 0;
    }

    float outputs[rows / step] = {};  // not yet divided by the rows' sums
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<threads, headdim, T>(shared.k, at, a.k, first_key, a.seqlen_k);
        stage<threads, headdim, T>(shared.v, at, a.v, first_key, a.seqlen_k);
        __syncthreads();
        scores(shared, at, a, first_key);
        __syncthreads();
        if (me < rows) {
            maximum(shared, me);
        }
        __syncthreads();
        exponentials(shared);
        __syncthreads();
        if (me < rows) {
            total(shared, me);
        }
        accumulate(shared, outputs);
    }

    __syncthreads();
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        const int row = me / headdim + i * step;
        if (at.first + row < a.seqlen_q) {
            const float inverse = shared.sum[row] > 0 ? 1 / shared.sum[row] : 0;
            store(at.token<T>(a.out, at.first + row) + me % headdim, outputs[i] * inverse);
        }
    }
    if (me < rows && at.first + me < a.seqlen_q && a.lse != nullptr) {
        const float sum = shared.sum[me];
        at.lse(a, at.first + me) = sum > 0 ? shared.highest[me] + logf(sum) : -INFINITY;
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    launch_rows<tiles, Shared>(
        "block", args, tile, stream, [](auto index, auto headdim, auto element) {
            return RowsCode{forward<index, headdim, decltype(element)>, threads};
        });
}

}  // namespace raceline::kernels::block

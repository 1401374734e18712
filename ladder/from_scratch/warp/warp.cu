// SPDX-License-Identifier: Apache-2.0
// `block` with the reductions given to warps: a row's 32 scores lie in the lanes of one warp, which
// finds their maximum and sum by shuffles. And with 16 bytes to a load, of global and of shared
// memory (where the tile says so: each of the two can be measured by itself).
#include <type_traits>

#include "gpu/tile/stage.cuh"
#include "gpu/tile/warp_scores.cuh"
#include "ladder/from_scratch/launch.cuh"
#include "ladder/from_scratch/warp/rows.cuh"
#include "ladder/from_scratch/warp/tile.hpp"

namespace raceline::kernels::warp {

using namespace gpu;

namespace {

constexpr int warps = threads / 32;

// Scores of a tile, and at once what the softmax makes of them. A lane is a key, and a warp has
// every fourth row.
template <int rows, int headdim>
__device__ void scores(Shared<rows, headdim>& shared, Known<rows / warps>& known, const RowTile& at,
                       const AttentionArgs& a, int first_key) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < rows / warps; ++i) {
        const int row = static_cast<int>(threadIdx.x / 32) + i * warps;
        const bool seen = first_key + lane < at.keys(a, at.first + row);
        const float s = score<headdim>(shared.q[row], shared.k[lane]);
        const Exponential e =
            softmax(known.highest[i], known.sum[i], seen ? s * a.scale : -INFINITY);
        shared.p[row][lane] = e.p;
        shared.rescale[row] = e.rescale;
    }
}

// A thread has four neighbouring columns of O, and every (threads / quads)th row.
template <int rows, int headdim, int count>
__device__ void accumulate(const Shared<rows, headdim>& shared, float4 (&outputs)[count]) {
    constexpr int quads = headdim / 4;
    constexpr int step = threads / quads;
    const int column = static_cast<int>(threadIdx.x) % quads * 4;
    const int first = static_cast<int>(threadIdx.x) / quads;
#pragma unroll
    for (int i = 0; i < count; ++i) {
        outputs[i] = times(outputs[i], shared.rescale[first + i * step]);
    }
    add_values<step>(outputs, shared.p, shared.v, first, column);
}

template <int index, int headdim, class T>
__global__ void __launch_bounds__(threads) forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    using Load = std::conditional_t<tiles[index].wide != 0, uint4, T>;
    constexpr int quads = headdim / 4;
    constexpr int step = threads / quads;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int most_keys = at.most_keys(a, rows);
    stage<threads, headdim, T, Load>(shared.q, at, a.q, at.first, a.seqlen_q, Unpack<T>());

    Known<rows / warps> known;
    float4 outputs[rows / step] = {};  // not yet divided by the rows' sums
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<threads, headdim, T, Load>(shared.k, at, a.k, first_key, a.seqlen_k, Unpack<T>());
        stage<threads, headdim, T, Load>(shared.v, at, a.v, first_key, a.seqlen_k, Unpack<T>());
        __syncthreads();
        scores(shared, known, at, a, first_key);
        __syncthreads();
        accumulate(shared, outputs);
    }

    __syncthreads();
#pragma unroll
    for (int i = 0; i < rows / warps; ++i) {
        const int row = static_cast<int>(threadIdx.x / 32) + i * warps;
        // One divides a row that sees no key, whose outputs are zeros.
        shared.rescale[row] = known.sum[i] > 0 ? 1 / known.sum[i] : 1;
        if (threadIdx.x % 32 == 0 && at.first + row < a.seqlen_q && a.lse != nullptr) {
            at.lse(a, at.first + row) =
                known.sum[i] > 0 ? known.highest[i] + logf(known.sum[i]) : -INFINITY;
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        const int row = static_cast<int>(threadIdx.x) / quads + i * step;
        if (at.first + row < a.seqlen_q) {
            T* to = at.token<T>(a.out, at.first + row) + threadIdx.x % quads * 4;
            store(to, outputs[i].x * shared.rescale[row]);
            store(to + 1, outputs[i].y * shared.rescale[row]);
            store(to + 2, outputs[i].z * shared.rescale[row]);
            store(to + 3, outputs[i].w * shared.rescale[row]);
        }
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    launch_aligned<tiles, Shared>(
        "warp", args, tile, stream, [](auto index, auto headdim, auto element) {
            return RowsCode{forward<index, headdim, decltype(element)>, threads};
        });
}

}  // namespace raceline::kernels::warp

// SPDX-License-Identifier: Apache-2.0
// `warp` with one barrier a tile. A warp now keeps to its own rows in the output as well, so that
// nothing passes between warps but the staged K and V; and those have two buffers, so that a tile
// is written while slower warps still read the one before. No warp can be two tiles ahead: the
// barrier between a tile's writing and its reading is passed by all or by none.
#include "gpu/tile/stage.cuh"
#include "gpu/tile/warp_scores.cuh"
#include "ladder/from_scratch/launch.cuh"
#include "ladder/from_scratch/light_barriers/tile.hpp"
#include "ladder/from_scratch/warp/rows.cuh"

namespace raceline::kernels::light_barriers {

using namespace gpu;
using namespace warp;

namespace {

// A warp's neighbouring rows.
template <int count>
struct OwnRows : Known<count> {
    float rescale[count];  // what came before to the maximum of now
};

// Scores of a tile, and at once what the softmax makes of them. A lane is a key.
template <int rows, int headdim, int count>
__device__ void scores(Shared<rows, headdim>& shared, OwnRows<count>& known, const RowTile& at,
                       const AttentionArgs& a, int first_key, int buffer) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int row = static_cast<int>(threadIdx.x / 32) * count + i;
        const bool seen = first_key + lane < at.keys(a, at.first + row);
        const float s = score<headdim>(shared.q[row], shared.k[buffer][lane]);
        const Exponential e =
            softmax(known.highest[i], known.sum[i], seen ? s * a.scale : -INFINITY);
        known.rescale[i] = e.rescale;
        shared.p[row][lane] = e.p;
    }
}

// A lane has four neighbouring columns of O: of all its warp's rows, or of every second one.
template <int headdim>
struct Lane {
    static constexpr int quads = headdim / 4;
    static constexpr int step = 32 / quads;
    int column = static_cast<int>(threadIdx.x) % quads * 4;
    int first = static_cast<int>(threadIdx.x) % 32 / quads;

    // Of a value that every row has, that of this lane's row i: no lane can index registers.
    template <int count>
    __device__ float of_row(const float (&values)[count], int i) const {
        return step == 1 || first == 0 ? values[i * step] : values[i * step + step - 1];
    }
};

template <int rows, int headdim, int count, int kept>
__device__ void accumulate(const Shared<rows, headdim>& shared, const OwnRows<count>& known,
                           float4 (&outputs)[kept], int buffer) {
    const Lane<headdim> lane;
    const int first = static_cast<int>(threadIdx.x / 32) * count + lane.first;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        outputs[i] = times(outputs[i], lane.of_row(known.rescale, i));
    }
    add_values<lane.step>(outputs, shared.p, shared.v[buffer], first, lane.column);
}

template <int index, int headdim, class T>
__global__ void __launch_bounds__(threads) forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    constexpr int count = rows / (threads / 32);  // of a warp
    constexpr int kept = count / Lane<headdim>::step;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int most_keys = at.most_keys(a, rows);
    stage<threads, headdim, T, uint4>(shared.q, at, a.q, at.first, a.seqlen_q, Unpack<T>());

    OwnRows<count> known;
    float4 outputs[kept] = {};  // not yet divided by the rows' sums
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        const int buffer = first_key / tile_keys % 2;
        stage<threads, headdim, T, uint4>(shared.k[buffer], at, a.k, first_key, a.seqlen_k,
                                          Unpack<T>());
        stage<threads, headdim, T, uint4>(shared.v[buffer], at, a.v, first_key, a.seqlen_k,
                                          Unpack<T>());
        __syncthreads();  // the only one
        scores(shared, known, at, a, first_key, buffer);
        __syncwarp();  // only this warp reads its rows of P
        accumulate(shared, known, outputs, buffer);
        __syncwarp();
    }

#pragma unroll
    for (int i = 0; i < count; ++i) {
        const int query = at.first + static_cast<int>(threadIdx.x / 32) * count + i;
        if (threadIdx.x % 32 == 0 && query < a.seqlen_q && a.lse != nullptr) {
            at.lse(a, query) = known.sum[i] > 0 ? known.highest[i] + logf(known.sum[i]) : -INFINITY;
        }
        // One divides a row that sees no key, whose outputs are zeros.
        known.rescale[i] = known.sum[i] > 0 ? 1 / known.sum[i] : 1;
    }
    const Lane<headdim> lane;
#pragma unroll
    for (int i = 0; i < kept; ++i) {
        const int row = static_cast<int>(threadIdx.x / 32) * count + lane.first + i * lane.step;
        if (at.first + row < a.seqlen_q) {
            const float4 out = times(outputs[i], lane.of_row(known.rescale, i));
            T* to = at.token<T>(a.out, at.first + row) + lane.column;
            store(to, out.x);
            store(to + 1, out.y);
            store(to + 2, out.z);
            store(to + 3, out.w);
        }
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    launch_aligned<tiles, Shared>(
        "light_barriers", args, tile, stream, [](auto index, auto headdim, auto element) {
            return RowsCode{forward<index, headdim, decltype(element)>, threads};
        });
}

}  // namespace raceline::kernels::light_barriers

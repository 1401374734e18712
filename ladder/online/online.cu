// SPDX-License-Identifier: Apache-2.0
// Softmax without S in memory: a first pass over the keys finds every row's maximum and sum, a
// second one computes the same scores again and turns them into probabilities as it goes. What
// passes from one launch to the other is two floats a row. Tiles and lanes are as in `tiled`.
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "ladder/online/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::online {

extern __shared__ float4 dynamic_shared[];

namespace {

__device__ float to_float(float x) {
    return x;
}
__device__ float to_float(__half x) {
    return __half2float(x);
}
__device__ void store(float* to, float x) {
    *to = x;
}
__device__ void store(__half* to, float x) {
    *to = __float2half_rn(x);
}

// A tile of neighbouring query rows of one head; blockIdx.x counts the tiles of all heads.
struct RowTile {
    int first, head, batch;

    __device__ RowTile(const AttentionArgs& a, int rows) {
        const int tiles = (a.seqlen_q + rows - 1) / rows;
        const int block = static_cast<int>(blockIdx.x);
        first = block % tiles * rows;
        head = block / tiles % a.heads_q;
        batch = block / tiles / a.heads_q;
    }
    // Keys that a query sees: all, or up to its own place, counted from both sequences' ends.
    __device__ int keys(const AttentionArgs& a, int query) const {
        const int beyond = a.window_right < 0 ? a.seqlen_k : a.seqlen_k - a.seqlen_q + 1;
        return min(a.seqlen_k, max(0, query + beyond));
    }
    // Of the tile's last query, which sees most.
    __device__ int most_keys(const AttentionArgs& a, int rows) const {
        return keys(a, min(first + rows, a.seqlen_q) - 1);
    }
    __device__ RowTotals& totals(const AttentionArgs& a, RowTotals* all, int query) const {
        return all[(std::int64_t{batch} * a.heads_q + head) * a.seqlen_q + query];
    }
    // Token `at` of this head.
    template <class T>
    __device__ T* token(const TensorArg& t, int at) const {
        return static_cast<T*>(t.data) + batch * t.batch_stride + at * t.seq_stride +
               head * t.head_stride;
    }
};

// Rows of a tensor into shared memory, as floats; zeros after the last of `length` rows.
// Neighbouring threads read neighbouring elements; a thread stays in its column. All loads come
// first, and none behind a branch (past the end the last row is read again): in flight together.
template <int threads, int headdim, class T, int rows, int width>
__device__ void stage(float (&tile)[rows][width], const T* from, std::int64_t stride, int length) {
    constexpr int step = threads / headdim;
    const int first = static_cast<int>(threadIdx.x) / headdim;
    const int column = static_cast<int>(threadIdx.x) % headdim;
    T loaded[rows / step];
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        loaded[i] = from[min(first + i * step, length - 1) * stride + column];
    }
#pragma unroll
    for (int i = 0; i < rows / step; ++i) {
        tile[first + i * step][column] = first + i * step < length ? to_float(loaded[i]) : 0;
    }
}

__device__ float4 quad(const float* from) {
    return *reinterpret_cast<const float4*>(from);
}
__device__ float dot(float4 x, float4 y, float sum) {
    return fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum))));
}

// One lane's score: its key against its warp's query.
template <int headdim>
__device__ float score(const float* q, const float* k, float scale) {
    float sum = 0;
#pragma unroll
    for (int d = 0; d < headdim; d += 4) {
        sum = dot(quad(q + d), quad(k + d), sum);
    }
    return sum * scale;
}

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

// First pass: a warp a row, a lane every 32nd key. A lane keeps the maximum of the scores it has
// met, and their sum of exponentials taken from that maximum: when it rises, the sum is rescaled.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(tiles[index].threads())
    totals(const __grid_constant__ AttentionArgs a, RowTotals* all) {
    constexpr int rows = tiles[index].rows;
    auto& shared = *reinterpret_cast<TotalsShared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    stage<rows * 32, headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride,
                              a.seqlen_q - at.first);

    float highest = -INFINITY;
    float sum = 0;
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                                  a.seqlen_k - first_key);
        __syncthreads();
        if (first_key + lane < keys) {
            const float s = score<headdim>(shared.q[warp], shared.k[lane], a.scale);
            const float before = highest;
            highest = fmaxf(highest, s);
            // Relative to 0 while all scores are -inf, whose differences are no numbers.
            const float base = highest == -INFINITY ? 0 : highest;
            sum = sum * expf(before - base) + expf(s - base);
        }
    }
    // The lanes' sums brought to one maximum; a lane that met no key adds nothing.
    const float top = over_warp(highest, [](float x, float y) { return fmaxf(x, y); });
    const float mine = sum == 0 ? 0 : sum * expf(highest - top);  // NaN stays
    const float total = over_warp(mine, [](float x, float y) { return x + y; });
    if (lane == 0 && query < a.seqlen_q) {
        at.totals(a, all, query) = {top, total};
        if (a.lse != nullptr) {
            a.lse[at.batch * a.lse_batch_stride + query * a.lse_seq_stride +
                  at.head * a.lse_head_stride] = keys > 0 ? top + logf(total) : -INFINITY;
        }
    }
}

// Second pass: the same scores again, now as probabilities; then as in `tiled` a warp has one row
// of O, a lane every 32nd column of it.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(tiles[index].threads())
    outputs(const __grid_constant__ AttentionArgs a, RowTotals* all) {
    constexpr int rows = tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<OutputsShared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    const RowTotals row = query < a.seqlen_q ? at.totals(a, all, query) : RowTotals{0, 1};
    const float inverse = 1 / row.sum;
    stage<rows * 32, headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride,
                              a.seqlen_q - at.first);

    float sums[columns] = {};
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                                  a.seqlen_k - first_key);
        stage<rows * 32, headdim>(shared.v, at.token<T>(a.v, first_key), a.v.seq_stride,
                                  a.seqlen_k - first_key);
        __syncthreads();
        const float s = score<headdim>(shared.q[warp], shared.k[lane], a.scale);
        shared.p[warp][lane] = first_key + lane < keys ? expf(s - row.highest) * inverse : 0;
        __syncwarp();  // only this warp reads its row of P
#pragma unroll
        for (int i = 0; i < tile_keys; i += 4) {
            const float4 p = quad(shared.p[warp] + i);
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const float* v = shared.v[i] + lane + 32 * c;
                sums[c] = dot(p, {v[0], v[headdim], v[2 * headdim], v[3 * headdim]}, sums[c]);
            }
        }
    }
    if (query < a.seqlen_q) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            store(at.token<T>(a.out, query) + lane + 32 * c, sums[c]);
        }
    }
}

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("online: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int index, int headdim, class T>
void launch_two(const AttentionArgs& a, RowTotals* all, cudaStream_t stream) {
    constexpr int rows = tiles[index].rows;
    constexpr unsigned threads = tiles[index].threads();
    constexpr int for_totals = sizeof(TotalsShared<rows, headdim>);
    constexpr int for_outputs = sizeof(OutputsShared<rows, headdim>);
    static_assert(for_totals == totals_bytes(rows, headdim) && for_totals <= 48 * 1024);
    static_assert(for_outputs == outputs_bytes(rows, headdim));
    const unsigned row_tiles =
        blocks(a.seqlen_q, rows) * static_cast<unsigned>(a.heads_q * a.batch);
    if (row_tiles == 0) {
        return;
    }
    totals<index, headdim, T><<<row_tiles, threads, for_totals, stream>>>(a, all);
    check("the launch of the totals", cudaGetLastError());
    check("asking for more than 48 KiB of shared memory",
          cudaFuncSetAttribute(reinterpret_cast<const void*>(outputs<index, headdim, T>),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, for_outputs));
    outputs<index, headdim, T><<<row_tiles, threads, for_outputs, stream>>>(a, all);
    check("the launch of the outputs", cudaGetLastError());
}

template <int index>
void launch_tile(const AttentionArgs& a, RowTotals* all, cudaStream_t stream) {
    const bool half = a.dtype == DType::fp16;
    if (a.headdim == 64) {
        half ? launch_two<index, 64, __half>(a, all, stream)
             : launch_two<index, 64, float>(a, all, stream);
    } else {
        half ? launch_two<index, 128, __half>(a, all, stream)
             : launch_two<index, 128, float>(a, all, stream);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void* workspace, void* stream) {
    [&]<int... index>(std::integer_sequence<int, index...>) {
        ((tile == index ? launch_tile<index>(args, static_cast<RowTotals*>(workspace),
                                             static_cast<cudaStream_t>(stream))
                        : void()),
         ...);
    }(std::make_integer_sequence<int, int{tiles.size()}>{});
}

}  // namespace raceline::kernels::online

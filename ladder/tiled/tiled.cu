// SPDX-License-Identifier: Apache-2.0
// The three launches of `naive` with their operands in shared memory: a CTA takes a tile of query
// rows, a warp each, and what it needs of K or V is read from global memory once for all of them.
// The score matrix S is still written to global memory and read back.
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "ladder/tiled/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::tiled {

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
    __device__ float* scores(const AttentionArgs& a, float* s, int query) const {
        return s + ((std::int64_t{batch} * a.heads_q + head) * a.seqlen_q + query) * a.seqlen_k;
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

// A CTA writes a tile of S; a warp one row of it, a lane one score. Grid: x over tiles of rows, y
// over tiles of keys.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(tiles[index].threads())
    scores(const __grid_constant__ AttentionArgs a, float* s) {
    constexpr int rows = tiles[index].rows;
    auto& shared = *reinterpret_cast<ScoresShared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int first_key = static_cast<int>(blockIdx.y) * tile_keys;
    if (first_key >= at.most_keys(a, rows)) {
        return;  // masked for all rows; the whole CTA leaves
    }
    stage<rows * 32, headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride,
                              a.seqlen_q - at.first);
    stage<rows * 32, headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                              a.seqlen_k - first_key);
    __syncthreads();

    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int key = first_key + lane;
    if (query >= a.seqlen_q || key >= at.keys(a, query)) {
        return;  // neither computed nor read later
    }
    float sum = 0;
#pragma unroll
    for (int d = 0; d < headdim; d += 4) {
        sum = dot(quad(shared.q[warp] + d), quad(shared.k[lane] + d), sum);
    }
    at.scores(a, s, query)[key] = sum * a.scale;
}

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

// One warp a row: maximum, exponentials and their sum, division. Three sweeps over the row.
template <int index>
__global__ void __launch_bounds__(tiles[index].threads())
    softmax(const __grid_constant__ AttentionArgs a, float* s) {
    const RowTile at(a, tiles[index].rows);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + static_cast<int>(threadIdx.x / 32);
    if (query >= a.seqlen_q) {
        return;  // the whole warp leaves together
    }
    const int keys = at.keys(a, query);
    float* line = at.scores(a, s, query);

    float highest = -INFINITY;
    for (int key = lane; key < keys; key += 32) {
        highest = fmaxf(highest, line[key]);
    }
    highest = over_warp(highest, [](float x, float y) { return fmaxf(x, y); });
    float sum = 0;
    for (int key = lane; key < keys; key += 32) {
        const float x = expf(line[key] - highest);
        line[key] = x;
        sum += x;
    }
    sum = over_warp(sum, [](float x, float y) { return x + y; });
    for (int key = lane; key < keys; key += 32) {
        line[key] /= sum;
    }
    if (lane == 0 && a.lse != nullptr) {
        a.lse[at.batch * a.lse_batch_stride + query * a.lse_seq_stride +
              at.head * a.lse_head_stride] = keys > 0 ? highest + logf(sum) : -INFINITY;
    }
}

// A warp has one row of O, a lane every 32nd column of it; P and V pass by in tiles of keys.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(tiles[index].threads())
    outputs(const __grid_constant__ AttentionArgs a, float* s) {
    constexpr int rows = tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<OutputsShared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);

    float sums[columns] = {};
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        const int key = first_key + lane;
        shared.p[warp][lane] = key < keys ? at.scores(a, s, query)[key] : 0;
        stage<rows * 32, headdim>(shared.v, at.token<T>(a.v, first_key), a.v.seq_stride,
                                  a.seqlen_k - first_key);
        __syncthreads();
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
        throw Error(Status::internal, std::string("tiled: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int index, int headdim, class T>
void launch_three(const AttentionArgs& a, float* s, cudaStream_t stream) {
    constexpr int rows = tiles[index].rows;
    constexpr unsigned threads = tiles[index].threads();
    constexpr std::size_t for_scores = sizeof(ScoresShared<rows, headdim>);
    constexpr std::size_t for_outputs = sizeof(OutputsShared<rows, headdim>);
    static_assert(for_scores == scores_bytes(rows, headdim) && for_scores <= 48 * 1024);
    static_assert(for_outputs == outputs_bytes(rows, headdim) && for_outputs <= 48 * 1024);
    const unsigned row_tiles =
        blocks(a.seqlen_q, rows) * static_cast<unsigned>(a.heads_q * a.batch);
    if (row_tiles == 0) {
        return;
    }
    if (a.seqlen_k > 0) {
        const dim3 grid(row_tiles, blocks(a.seqlen_k, tile_keys));
        scores<index, headdim, T><<<grid, threads, for_scores, stream>>>(a, s);
        check("the launch of the scores", cudaGetLastError());
    }
    softmax<index><<<row_tiles, threads, 0, stream>>>(a, s);
    check("the launch of the softmax", cudaGetLastError());
    outputs<index, headdim, T><<<row_tiles, threads, for_outputs, stream>>>(a, s);
    check("the launch of the outputs", cudaGetLastError());
}

template <int index>
void launch_tile(const AttentionArgs& a, float* s, cudaStream_t stream) {
    const bool half = a.dtype == DType::fp16;
    if (a.headdim == 64) {
        half ? launch_three<index, 64, __half>(a, s, stream)
             : launch_three<index, 64, float>(a, s, stream);
    } else {
        half ? launch_three<index, 128, __half>(a, s, stream)
             : launch_three<index, 128, float>(a, s, stream);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void* workspace, void* stream) {
    [&]<int... index>(std::integer_sequence<int, index...>) {
        ((tile == index ? launch_tile<index>(args, static_cast<float*>(workspace),
                                             static_cast<cudaStream_t>(stream))
                        : void()),
         ...);
    }(std::make_integer_sequence<int, int{tiles.size()}>{});
}

}  // namespace raceline::kernels::tiled

// SPDX-License-Identifier: Apache-2.0
// Everything in one pass: a warp has one query row and keeps its output in registers while tiles of
// K and V pass by. When the row's maximum rises, sum and output so far are rescaled to the new one.
// Tiles and lanes are as in `online`.
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "ladder/fused/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::fused {

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

// A warp a row: in the scores a lane is a key, in the output every 32nd column.
template <int index, int headdim, class T>
__global__ void __launch_bounds__(tiles[index].threads())
    forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    constexpr int columns = headdim / 32;
    auto& shared = *reinterpret_cast<Shared<rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int query = at.first + warp;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    stage<rows * 32, headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride,
                              a.seqlen_q - at.first);

    // Of the row so far, the same in all lanes; finite, so that differences of it are numbers.
    float highest = -FLT_MAX;
    float sum = 0;                // of this lane's exponentials
    float outputs[columns] = {};  // of this lane, not yet divided by the row's sum
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<rows * 32, headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                                  a.seqlen_k - first_key);
        stage<rows * 32, headdim>(shared.v, at.token<T>(a.v, first_key), a.v.seq_stride,
                                  a.seqlen_k - first_key);
        __syncthreads();
        float s = score<headdim>(shared.q[warp], shared.k[lane], a.scale);
        s = first_key + lane < keys ? s : -INFINITY;
        const float before = highest;
        highest = fmaxf(highest, over_warp(s, [](float x, float y) { return fmaxf(x, y); }));
        const float rescale = expf(before - highest);
        const float p = expf(s - highest);
        sum = sum * rescale + p;
        shared.p[warp][lane] = p;
        __syncwarp();  // only this warp reads its row of P
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            outputs[c] *= rescale;
        }
#pragma unroll
        for (int i = 0; i < tile_keys; i += 4) {
            const float4 p4 = quad(shared.p[warp] + i);
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const float* v = shared.v[i] + lane + 32 * c;
                outputs[c] =
                    dot(p4, {v[0], v[headdim], v[2 * headdim], v[3 * headdim]}, outputs[c]);
            }
        }
    }
    if (query >= a.seqlen_q) {
        return;
    }
    const float total = over_warp(sum, [](float x, float y) { return x + y; });
    const float inverse = keys > 0 ? 1 / total : 0;
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        store(at.token<T>(a.out, query) + lane + 32 * c, outputs[c] * inverse);
    }
    if (lane == 0 && a.lse != nullptr) {
        a.lse[at.batch * a.lse_batch_stride + query * a.lse_seq_stride +
              at.head * a.lse_head_stride] = keys > 0 ? highest + logf(total) : -INFINITY;
    }
}

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("fused: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

template <int index, int headdim, class T>
void launch_one(const AttentionArgs& a, cudaStream_t stream) {
    constexpr int rows = tiles[index].rows;
    constexpr int bytes = sizeof(Shared<rows, headdim>);
    static_assert(bytes == shared_bytes(rows, headdim));
    const unsigned row_tiles =
        blocks(a.seqlen_q, rows) * static_cast<unsigned>(a.heads_q * a.batch);
    if (row_tiles == 0) {
        return;
    }
    check("asking for more than 48 KiB of shared memory",
          cudaFuncSetAttribute(reinterpret_cast<const void*>(forward<index, headdim, T>),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    forward<index, headdim, T><<<row_tiles, tiles[index].threads(), bytes, stream>>>(a);
    check("the launch", cudaGetLastError());
}

template <int index>
void launch_tile(const AttentionArgs& a, cudaStream_t stream) {
    const bool half = a.dtype == DType::fp16;
    if (a.headdim == 64) {
        half ? launch_one<index, 64, __half>(a, stream) : launch_one<index, 64, float>(a, stream);
    } else {
        half ? launch_one<index, 128, __half>(a, stream) : launch_one<index, 128, float>(a, stream);
    }
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    [&]<int... index>(std::integer_sequence<int, index...>) {
        ((tile == index ? launch_tile<index>(args, static_cast<cudaStream_t>(stream)) : void()),
         ...);
    }(std::make_integer_sequence<int, int{tiles.size()}>{});
}

}  // namespace raceline::kernels::fused

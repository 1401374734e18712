// SPDX-License-Identifier: Apache-2.0
// `minimal` in tiles: a CTA has several query rows and walks over tiles of K and V in shared
// memory, so that what it reads serves all its rows, and keeps running maxima, sums and outputs.
// Maximum and sum of a row are still left to one thread, now one for every row.
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "ladder/block/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::block {

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
template <int headdim, class T, int rows, int width>
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
    stage<headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride, a.seqlen_q - at.first);
    if (me < rows) {
        shared.highest[me] = -FLT_MAX;  // finite, so that differences of it are numbers
        shared.sum[me] = 0;
    }

    float outputs[rows / step] = {};  // not yet divided by the rows' sums
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                       a.seqlen_k - first_key);
        stage<headdim>(shared.v, at.token<T>(a.v, first_key), a.v.seq_stride,
                       a.seqlen_k - first_key);
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
        a.lse[at.batch * a.lse_batch_stride + (at.first + me) * a.lse_seq_stride +
              at.head * a.lse_head_stride] = sum > 0 ? shared.highest[me] + logf(sum) : -INFINITY;
    }
}

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("block: ") + what +
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
    forward<index, headdim, T><<<row_tiles, threads, bytes, stream>>>(a);
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

}  // namespace raceline::kernels::block

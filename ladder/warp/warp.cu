// SPDX-License-Identifier: Apache-2.0
// `block` with the reductions given to warps: a row's 32 scores lie in the lanes of one warp, which
// finds their maximum and sum by shuffles. And with 16 bytes to a load, of global and of shared
// memory (where the tile says so: each of the two can be measured by itself).
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>
#include <utility>

#include "ladder/warp/load.cuh"
#include "ladder/warp/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::warp {

extern __shared__ float4 dynamic_shared[];

namespace {

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

// A lane's score: its key against a query.
template <int headdim>
__device__ float score(const float* q, const float* k) {
    float sum = 0;
#pragma unroll
    for (int d = 0; d < headdim; d += 4) {
        sum = dot(quad(q + d), quad(k + d), sum);
    }
    return sum;
}

template <class Combine>
__device__ float over_warp(float x, Combine combine) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = combine(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

constexpr int warps = threads / 32;

// A warp's rows, every fourth: what is known of them so far, the same in all lanes.
template <int count>
struct Rows {
    float highest[count], sum[count];
};

// Scores of a tile, and at once what the softmax makes of them. A lane is a key.
template <int rows, int headdim>
__device__ void softmax(Shared<rows, headdim>& shared, Rows<rows / warps>& known, const RowTile& at,
                        const AttentionArgs& a, int first_key) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < rows / warps; ++i) {
        const int row = static_cast<int>(threadIdx.x / 32) + i * warps;
        const bool seen = first_key + lane < at.keys(a, at.first + row);
        const float s = score<headdim>(shared.q[row], shared.k[lane]);
        const float masked = seen ? s * a.scale : -INFINITY;
        const float before = known.highest[i];
        const float highest =
            fmaxf(before, over_warp(masked, [](float x, float y) { return fmaxf(x, y); }));
        const float rescale = expf(before - highest);
        const float p = expf(masked - highest);
        known.highest[i] = highest;
        known.sum[i] =
            known.sum[i] * rescale + over_warp(p, [](float x, float y) { return x + y; });
        shared.p[row][lane] = p;
        shared.rescale[row] = rescale;
    }
}

__device__ void add(float4& to, float p, float4 v) {
    to = {fmaf(p, v.x, to.x), fmaf(p, v.y, to.y), fmaf(p, v.z, to.z), fmaf(p, v.w, to.w)};
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
        const float r = shared.rescale[first + i * step];
        outputs[i] = {outputs[i].x * r, outputs[i].y * r, outputs[i].z * r, outputs[i].w * r};
    }
#pragma unroll 2
    for (int key = 0; key < tile_keys; key += 4) {
        float4 v[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            v[j] = quad(&shared.v[key + j][column]);
        }
#pragma unroll
        for (int i = 0; i < count; ++i) {
            const float4 p = quad(&shared.p[first + i * step][key]);
            add(outputs[i], p.x, v[0]);
            add(outputs[i], p.y, v[1]);
            add(outputs[i], p.z, v[2]);
            add(outputs[i], p.w, v[3]);
        }
    }
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
    stage<Load, headdim>(shared.q, at.token<T>(a.q, at.first), a.q.seq_stride,
                         a.seqlen_q - at.first);

    Rows<rows / warps> known;
#pragma unroll
    for (int i = 0; i < rows / warps; ++i) {
        known.highest[i] = -FLT_MAX;  // finite, so that differences of it are numbers
        known.sum[i] = 0;
    }
    float4 outputs[rows / step] = {};  // not yet divided by the rows' sums
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        __syncthreads();  // the tile before has been read by all
        stage<Load, headdim>(shared.k, at.token<T>(a.k, first_key), a.k.seq_stride,
                             a.seqlen_k - first_key);
        stage<Load, headdim>(shared.v, at.token<T>(a.v, first_key), a.v.seq_stride,
                             a.seqlen_k - first_key);
        __syncthreads();
        softmax(shared, known, at, a, first_key);
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
            a.lse[at.batch * a.lse_batch_stride + (at.first + row) * a.lse_seq_stride +
                  at.head * a.lse_head_stride] =
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

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("warp: ") + what +
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

// Reading sixteen bytes at once asks for it.
void check_aligned(const TensorArg& t, int element, const char* name) {
    const std::int64_t all = t.batch_stride | t.seq_stride | t.head_stride;
    if (reinterpret_cast<std::uintptr_t>(t.data) % 16 != 0 || all * element % 16 != 0) {
        throw Error(Status::invalid_argument,
                    std::string("warp: ") + name +
                        " must start at, and step by, multiples of sixteen bytes");
    }
}

template <int index>
void launch_tile(const AttentionArgs& a, cudaStream_t stream) {
    const bool half = a.dtype == DType::fp16;
    check_aligned(a.q, half ? 2 : 4, "q");
    check_aligned(a.k, half ? 2 : 4, "k");
    check_aligned(a.v, half ? 2 : 4, "v");
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

}  // namespace raceline::kernels::warp

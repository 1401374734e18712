// SPDX-License-Identifier: Apache-2.0
// One query token a sequence. With one row a head, a CTA for each row would leave most of the GPU
// idle, so the keys are split over CTAs. Each leaves what it knows of its row, and a second launch
// merges. Inside a CTA a warp no longer has a row of its own: the warps share the row's keys.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>

#include "ladder/splitkv/part.cuh"

namespace raceline::kernels::splitkv {
namespace {

template <class T>
__device__ uint4 load_16(const T* from) {
    return __ldg(reinterpret_cast<const uint4*>(from));
}

__device__ float sum_over_warp(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, lanes);
    }
    return x;
}

// Rows `first` … of K and V to shared memory, 16 bytes a load. A thread's eight loads are all under
// way before the first is stored: bandwidth is bytes in flight over latency. Past the last of
// `keys` rows that one is loaded again.
template <class T, int d>
__device__ void stage(T* tile_k, T* tile_v, const AttentionArgs& a, const T* k, const T* v,
                      int first, int keys) {
    constexpr int elements = 16 / static_cast<int>(sizeof(T));  // of a load
    constexpr int chunks = d / elements;                        // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    constexpr int batch = 4;
    static_assert(tile_keys(d, sizeof(T)) % (step * batch) == 0);
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 1
    for (int row = static_cast<int>(threadIdx.x / chunks); row < keys; row += step * batch) {
        uint4 raw_k[batch], raw_v[batch];
        for (int j = 0; j < batch; ++j) {
            const std::int64_t at = first + min(row + j * step, keys - 1);
            raw_k[j] = load_16(k + at * static_cast<int>(a.k.seq_stride) + chunk);
            raw_v[j] = load_16(v + at * static_cast<int>(a.v.seq_stride) + chunk);
        }
        for (int j = 0; j < batch; ++j) {
            const int to = (row + j * step) * d + chunk;
            *reinterpret_cast<uint4*>(tile_k + to) = raw_k[j];
            *reinterpret_cast<uint4*>(tile_v + to) = raw_v[j];
        }
    }
}

// Grid: x over query heads (those that share a KV head run side by side), y over splits, z batch.
template <class T, int d>
__global__ void __launch_bounds__(threads, 2)
    partial(const __grid_constant__ AttentionArgs a, int keys_per_split, float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row that a lane holds
    constexpr int most = tile_keys(d, sizeof(T));
    const auto [head, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    T* tile_k = reinterpret_cast<T*>(memory);
    T* tile_v = tile_k + most * d;
    const std::int64_t head_kv = head / (a.heads_q / a.heads_kv);
    const T* k =
        static_cast<const T*>(a.k.data) + batch * a.k.batch_stride + head_kv * a.k.head_stride;
    const T* v =
        static_cast<const T*>(a.v.data) + batch * a.v.batch_stride + head_kv * a.v.head_stride;
    float q[n];
    load(static_cast<const T*>(a.q.data) + batch * a.q.batch_stride + head * a.q.head_stride +
             lane * n,
         q);

    Part<n> row;
    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, a.seqlen_k);
    for (int at = first; at < last; at += most) {
        const int keys = min(most, last - at);
        __syncthreads();  // the tile before is consumed
        stage<T, d>(tile_k, tile_v, a, k, v, at, keys);
        __syncthreads();
#pragma unroll 1
        for (int key = warp; key < keys; key += warps) {
            float k_slice[n];
            float score = 0;
            load(tile_k + key * d + lane * n, k_slice);
            for (int i = 0; i < n; ++i) {
                score = fmaf(q[i], k_slice[i], score);
            }
            Part<n> one{.highest = sum_over_warp(score) * (a.scale * log2_e), .sum = 1};
            load(tile_v + key * d + lane * n, one.out);
            row.merge(one);
        }
    }
    row.gather(reinterpret_cast<float*>(memory));
    if (warp == 0 && parts == nullptr) {
        finish<T>(a, batch, head, row);
    } else if (warp == 0) {
        const std::int64_t at = (std::int64_t{batch} * a.heads_q + head) * gridDim.y + split;
        row.write(parts + at * part_floats(d));
    }
}

}  // namespace
}  // namespace raceline::kernels::splitkv

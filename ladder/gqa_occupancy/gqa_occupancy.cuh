// SPDX-License-Identifier: Apache-2.0
// gqa with half the tile, so that an SM holds twice the CTAs: more warps to switch to while some
// wait, fewer bytes under way in each. The launch bound asks the compiler for the registers that
// four CTAs leave.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>

#include "ladder/gqa_occupancy/part.cuh"

namespace raceline::kernels::gqa_occupancy {
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

// Where the tokens of a sequence lie. A contiguous cache is one page as long as can be.
struct Pages {
    const std::int32_t* table;  // of this sequence; null: contiguous
    int batch, shift;           // shift: log2 of the page's tokens

    __device__ int page(int token) const {
        return table == nullptr ? batch : __ldg(table + (token >> shift));
    }
    __device__ int slot(int token) const { return token & ((1U << shift) - 1); }
};

// Rows `first` … of K and V to shared memory, 16 bytes a load. A thread's eight loads are all under
// way before the first is stored: bandwidth is bytes in flight over latency. Past the last of
// `keys` rows that one is loaded again.
template <class T, int d>
__device__ void stage(T* tile_k, T* tile_v, const AttentionArgs& a, const Pages& pages, const T* k,
                      const T* v, int first, int keys) {
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
            const int token = first + min(row + j * step, keys - 1);
            const std::int64_t page = pages.page(token);
            const std::int64_t slot = pages.slot(token);
            raw_k[j] = load_16(k + page * a.k.batch_stride +
                               slot * static_cast<int>(a.k.seq_stride) + chunk);
            raw_v[j] = load_16(v + page * a.v.batch_stride +
                               slot * static_cast<int>(a.v.seq_stride) + chunk);
        }
        for (int j = 0; j < batch; ++j) {
            const int to = (row + j * step) * d + chunk;
            *reinterpret_cast<uint4*>(tile_k + to) = raw_k[j];
            *reinterpret_cast<uint4*>(tile_v + to) = raw_v[j];
        }
    }
}

// Grid: x over KV heads, y over splits, z batch. `rows` is what a warp holds; `row_warps` warps
// share a key, and each sees another part of the group.
template <class T, int d, int rows>
__global__ void __launch_bounds__(threads, 4)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row that a lane holds
    constexpr int most = tile_keys(d, sizeof(T));
    const auto [head_kv, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row_warp = warp % row_warps;
    const int key_warp = warp / row_warps;
    const int key_warps = warps / row_warps;
    const int group = a.heads_q / a.heads_kv;
    const std::int64_t first_head = std::int64_t{head_kv} * group;
    T* tile_k = reinterpret_cast<T*>(memory);
    T* tile_v = tile_k + most * d;
    const T* k = static_cast<const T*>(a.k.data) + head_kv * a.k.head_stride;
    const T* v = static_cast<const T*>(a.v.data) + head_kv * a.v.head_stride;
    const Pages pages{
        a.block_table == nullptr ? nullptr : a.block_table + batch * a.block_table_stride,
        static_cast<int>(batch), a.page_size > 0 ? 31 - __clz(a.page_size) : 31};
    const int length = a.seqlens_k == nullptr ? a.seqlen_k : a.seqlens_k[batch];
    float q[rows][n];
    for (int r = 0; r < rows; ++r) {
        // A row past the group is computed for nothing and not written.
        const std::int64_t head = first_head + min(row_warp * rows + r, group - 1);
        load(static_cast<const T*>(a.q.data) + batch * a.q.batch_stride + head * a.q.head_stride +
                 lane * n,
             q[r]);
    }

    Part<n> row[rows];
    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, length);
    for (int at = first; at < last; at += most) {
        const int keys = min(most, last - at);
        __syncthreads();  // the tile before is consumed
        stage<T, d>(tile_k, tile_v, a, pages, k, v, at, keys);
        __syncthreads();
#pragma unroll 1
        for (int key = key_warp; key < keys; key += key_warps) {
            float slice[n];
            float score[rows] = {};
            load(tile_k + key * d + lane * n, slice);
            for (int r = 0; r < rows; ++r) {
                for (int i = 0; i < n; ++i) {
                    score[r] = fmaf(q[r][i], slice[i], score[r]);
                }
            }
            Part<n> one{.sum = 1};
            load(tile_v + key * d + lane * n, one.out);
            for (int r = 0; r < rows; ++r) {
                one.highest = sum_over_warp(score[r]) * (a.scale * log2_e);
                row[r].merge(one);
            }
        }
    }
    // What the key warps know of a row meets in shared memory; a warp merges and writes each row.
    auto* all = reinterpret_cast<float*>(memory);
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
        row[r].write(all + (warp * rows + r) * part_floats(d));
    }
    __syncthreads();
    for (int r = warp; r < group; r += warps) {
        Part<n> whole;
        for (int from = 0; from < key_warps; ++from) {
            Part<n> other;
            other.read(all + (from * row_warps * rows + r) * part_floats(d));
            whole.merge(other);
        }
        const std::int64_t head = first_head + r;
        if (parts == nullptr) {
            finish<T>(a, batch, static_cast<int>(head), whole);
        } else {
            const std::int64_t to = (std::int64_t{batch} * a.heads_q + head) * gridDim.y + split;
            whole.write(parts + to * part_floats(d));
        }
    }
}

}  // namespace
}  // namespace raceline::kernels::gqa_occupancy

// SPDX-License-Identifier: Apache-2.0
// gqa with two buffers: while a tile is computed on, cp.async brings the next one, past registers.
// The shared memory is gqa's, cut in half, so that as many CTAs are resident.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>

#include "gpu/ptx/cp_async.cuh"
#include "ladder/gqa_doublebuffer/part.cuh"

namespace raceline::kernels::gqa_doublebuffer {
namespace {

// 16 bytes from global to shared memory, some time before the wait for their group returns.
template <class T>
__device__ void copy_16(T* to, const T* from) {
    ptx::cp_async_cg_16(static_cast<std::uint32_t>(__cvta_generic_to_shared(to)), from, 16);
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

// Starts the copies of `keys` rows of K and V from `first` on, one group for the whole tile.
template <class T, int d>
__device__ void start_copies(T* tile_k, T* tile_v, const AttentionArgs& a, const Pages& pages,
                             const T* k, const T* v, int first, int keys) {
    constexpr int elements = 16 / static_cast<int>(sizeof(T));  // of a copy
    constexpr int chunks = d / elements;                        // of a row
    constexpr int step = threads / chunks;  // rows that all threads copy at once
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 4
    for (int row = static_cast<int>(threadIdx.x / chunks); row < keys; row += step) {
        const std::int64_t page = pages.page(first + row);
        const std::int64_t slot = pages.slot(first + row);
        copy_16(tile_k + row * d + chunk,
                k + page * a.k.batch_stride + slot * static_cast<int>(a.k.seq_stride) + chunk);
        copy_16(tile_v + row * d + chunk,
                v + page * a.v.batch_stride + slot * static_cast<int>(a.v.seq_stride) + chunk);
    }
    ptx::cp_async_commit_group();
}

// Grid: x over KV heads, y over splits, z batch. `rows` is what a warp holds; `row_warps` warps
// share a key, and each sees another part of the group.
template <class T, int d, int rows>
__global__ void __launch_bounds__(threads, 2)
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
    auto* tiles = reinterpret_cast<T*>(memory);  // K, V of one buffer, then of the other
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
    const auto start = [&](int at, int buffer) {  // nothing but an empty group past the end
        T* tile = tiles + buffer * 2 * most * d;
        start_copies<T, d>(tile, tile + most * d, a, pages, k, v, at, min(most, last - at));
    };
    start(first, 0);
    for (int at = first, buffer = 0; at < last; at += most, buffer ^= 1) {
        const int keys = min(most, last - at);
        const T* tile_k = tiles + buffer * 2 * most * d;
        const T* tile_v = tile_k + most * d;
        start(at + most, buffer ^ 1);
        ptx::cp_async_wait_group<1>();  // of all but the tile just started
        __syncthreads();                // other threads' copies have landed, too
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
        __syncthreads();  // this buffer is consumed
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
}  // namespace raceline::kernels::gqa_doublebuffer

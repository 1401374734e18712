// SPDX-License-Identifier: Apache-2.0
// paged with the query heads of a group packed: a CTA has all rows that read one KV head, so that K
// and V cross from global to shared memory once a group. A warp holds up to eight rows; a larger
// group is spread over warps, and the warps that are left divide the keys.
#pragma once

#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>

#include "gpu/ptx/ex2_approx_ftz_f32.cuh"
#include "ladder/gqa/tile.hpp"

namespace raceline::kernels::gqa {
namespace {

constexpr float log2_e = 1.4426950408889634F;
constexpr float ln_2 = 0.6931471805599453F;
constexpr float lowest = -3e38F;  // below every score, and finite: no infinity minus infinity

__device__ float to_float(float x) {
    return x;
}
__device__ float to_float(__half x) {
    return __half2float(x);
}
__device__ void convert(float x, float& to) {
    to = x;
}
__device__ void convert(float x, __half& to) {
    to = __float2half_rn(x);
}

// n elements that are read or written at once.
template <class T, int n>
struct alignas(n * sizeof(T)) Pack {
    T at[n];
};
template <class T, int n>
__device__ void load(const T* from, float (&to)[n]) {
    const auto pack = *reinterpret_cast<const Pack<T, n>*>(from);
    for (int i = 0; i < n; ++i) {
        to[i] = to_float(pack.at[i]);
    }
}
template <class T, int n>
__device__ void store(T* to, const float (&from)[n]) {
    Pack<T, n> pack;
    for (int i = 0; i < n; ++i) {
        convert(from[i], pack.at[i]);
    }
    *reinterpret_cast<Pack<T, n>*>(to) = pack;
}

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

// What some keys say about a row: the highest score (in units of log2), the sum of exponentials
// relative to it, and this lane's n outputs weighted alike. A key is one, and so is what a warp, a
// CTA or all splits have seen: they all merge.
template <int n>
struct Part {
    float highest = lowest, sum = 0;
    float out[n] = {};

    __device__ void merge(const Part& other) {
        const float common = fmaxf(highest, other.highest);
        const float mine = ptx::ex2_approx_ftz_f32(highest - common);
        const float theirs = ptx::ex2_approx_ftz_f32(other.highest - common);
        highest = common;
        sum = sum * mine + other.sum * theirs;
        for (int i = 0; i < n; ++i) {
            out[i] = out[i] * mine + other.out[i] * theirs;
        }
    }
    // In memory: every lane's outputs, then maximum and sum.
    __device__ void read(const float* from) {
        load(from + threadIdx.x % 32 * n, out);
        highest = from[32 * n];
        sum = from[32 * n + 1];
    }
    __device__ void write(float* to) const {
        store(to + threadIdx.x % 32 * n, out);
        to[32 * n] = highest;
        to[32 * n + 1] = sum;
    }
    // What all warps of a CTA know, in warp 0. Overwrites `memory`, which they have done with.
    __device__ void gather(float* memory) {
        const int warp = static_cast<int>(threadIdx.x / 32);
        __syncthreads();
        write(memory + warp * part_floats(32 * n));
        __syncthreads();
        for (int from = 1; warp == 0 && from < warps; ++from) {
            Part other;
            other.read(memory + from * part_floats(32 * n));
            merge(other);
        }
    }
};

template <class T, int n>
__device__ void finish(const AttentionArgs& a, int batch, int head, const Part<n>& row) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const float factor = row.sum > 0 ? 1 / row.sum : 0;  // no keys: 0
    float out[n];
    for (int i = 0; i < n; ++i) {
        out[i] = row.out[i] * factor;
    }
    store(static_cast<T*>(a.out.data) + batch * a.out.batch_stride + head * a.out.head_stride +
              lane * n,
          out);
    if (lane == 0 && a.lse != nullptr) {
        a.lse[batch * a.lse_batch_stride + head * a.lse_head_stride] =
            row.sum > 0 ? (row.highest + log2f(row.sum)) * ln_2 : -INFINITY;
    }
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

// One CTA a row; its warps take the row's parts in turn. Grid: x over query heads, y batch.
template <class T, int d>
__global__ void __launch_bounds__(threads, 8)
    merge(const __grid_constant__ AttentionArgs a, int splits, const float* parts) {
    __shared__ float4 memory[warps * part_floats(d) / 4];
    const int head = static_cast<int>(blockIdx.x);
    const int batch = static_cast<int>(blockIdx.y);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const float* mine = parts + (std::int64_t{batch} * a.heads_q + head) * splits * part_floats(d);
    constexpr int group = 4;  // parts that a warp reads at once
    Part<d / 32> row;
    for (int split = warp; split < splits; split += group * warps) {
        Part<d / 32> others[group];
        for (int j = 0; j < group; ++j) {
            others[j].read(mine + min(split + j * warps, splits - 1) * part_floats(d));
        }
        for (int j = 0; j < group; ++j) {
            if (split + j * warps >= splits) {
                others[j].highest = lowest;  // read again, but weighs nothing
            }
            row.merge(others[j]);
        }
    }
    row.gather(reinterpret_cast<float*>(memory));
    if (warp == 0) {
        finish<T>(a, batch, head, row);
    }
}

}  // namespace
}  // namespace raceline::kernels::gqa

// SPDX-License-Identifier: Apache-2.0
// gqa_scorestationary on a cache of E4M3: half the bytes cross from memory. Between the load and
// the store to shared memory every element becomes the half that it is exactly; the scales of a KV
// head are factors of Q and of the output.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "ladder/fp8_kv/part.cuh"

namespace raceline::kernels::fp8_kv {
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
__device__ float max_over_warp(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
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

// Eight E4M3 as eight halves.
__device__ uint4 halves_of(std::uint32_t low, std::uint32_t high) {
    __half2_raw pairs[4];
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t two = (i < 2 ? low : high) >> (i % 2 * 16);
        pairs[i] = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    }
    return *reinterpret_cast<const uint4*>(pairs);
}
// Sixteen E4M3 as sixteen halves at `to`. Lanes are 32 bytes apart: where a row has no padding for
// it, every other four write their upper half first, so that eight lanes cover all banks.
__device__ void store_halves(__half* to, uint4 raw, bool upper_first) {
    auto* pieces = reinterpret_cast<uint4*>(to);
    const uint4 lower = halves_of(raw.x, raw.y);
    const uint4 upper = halves_of(raw.z, raw.w);
    pieces[upper_first ? 1 : 0] = upper_first ? upper : lower;
    pieces[upper_first ? 0 : 1] = upper_first ? lower : upper;
}

// Rows `first` … of K and V to shared memory, 16 bytes a load. A thread's eight loads are all under
// way before the first is stored: bandwidth is bytes in flight over latency. Past the last of
// `keys` rows that one is loaded again.
template <int d>
__device__ void stage(__half* tile_k, __half* tile_v, const AttentionArgs& a, const Pages& pages,
                      const std::uint8_t* k, const std::uint8_t* v, int first, int keys) {
    constexpr int elements = 16;            // of a load
    constexpr int chunks = d / elements;    // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    constexpr int batch = 4;
    static_assert(tile_keys(d) % (step * batch) == 0 && step * batch % 32 == 0);
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 1
    for (int from = 0; from < keys; from += step * batch) {
        // Every thread stores, so that no row of a block of 32 keys is left as it was.
        const int row = from + static_cast<int>(threadIdx.x / chunks);
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
            const int to = row + j * step;
            const bool odd_four = (threadIdx.x & 4) != 0;
            store_halves(tile_k + to * pitch_of(d) + chunk, raw_k[j], odd_four && chunks == 8);
            store_halves(tile_v + to * d + chunk, raw_v[j], odd_four);
        }
    }
}

// Scores of 32 keys by `rows`, a key a lane: `key` is this lane's row of K, `q` all rows of Q.
template <int d, int rows>
__device__ void dot_products(const __half* key, const float* q, float (&score)[rows]) {
#pragma unroll 4
    for (int c = 0; c < d; c += 8) {
        float k[8];
        load(key + c, k);
        for (int r = 0; r < rows; ++r) {
            float row[8];  // the same for all lanes
            *reinterpret_cast<float4*>(row) = *reinterpret_cast<const float4*>(q + r * d + c);
            *reinterpret_cast<float4*>(row + 4) =
                *reinterpret_cast<const float4*>(q + r * d + c + 4);
            for (int i = 0; i < 8; ++i) {
                score[r] = fmaf(row[i], k[i], score[r]);
            }
        }
    }
}

// Adds 32 keys' values, each with its probability, to a slice of n columns of every row.
template <int d, int rows, int n>
__device__ void add_values(const __half* v, const float* p, Part<n> (&row)[rows]) {
#pragma unroll 2
    for (int key = 0; key < 32; key += 4) {
        float slice[4][n];
        for (int u = 0; u < 4; ++u) {
            load(v + (key + u) * d, slice[u]);
        }
        for (int r = 0; r < rows; ++r) {
            const float4 four = *reinterpret_cast<const float4*>(p + r * 32 + key);
            for (int i = 0; i < n; ++i) {
                float& out = row[r].out[i];
                out = fmaf(four.x, slice[0][i], out);
                out = fmaf(four.y, slice[1][i], out);
                out = fmaf(four.z, slice[2][i], out);
                out = fmaf(four.w, slice[3][i], out);
            }
        }
    }
}

// Grid: x over KV heads, y over splits, z batch. `rows` is what a warp holds; `row_warps` warps
// share 32 keys, and each sees another part of the group.
template <int d, int rows>
__global__ void __launch_bounds__(threads, 3)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row of outputs that a lane holds
    constexpr int most = tile_keys(d);
    const auto [head_kv, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row_warp = warp % row_warps;
    const int key_warp = warp / row_warps;
    const int key_warps = warps / row_warps;
    const int group = a.heads_q / a.heads_kv;
    const std::int64_t first_head = std::int64_t{head_kv} * group;
    auto* tile_k = reinterpret_cast<__half*>(memory);
    __half* tile_v = tile_k + most * pitch_of(d);
    auto* probabilities = reinterpret_cast<float*>(tile_v + most * d) + warp * rows * 32;
    float* q = reinterpret_cast<float*>(tile_v + most * d) + warps * rows * 32;
    const auto* k = static_cast<const std::uint8_t*>(a.k.data) + head_kv * a.k.head_stride;
    const auto* v = static_cast<const std::uint8_t*>(a.v.data) + head_kv * a.v.head_stride;
    const Pages pages{
        a.block_table == nullptr ? nullptr : a.block_table + batch * a.block_table_stride,
        static_cast<int>(batch), a.page_size > 0 ? 31 - __clz(a.page_size) : 31};
    const int length = a.seqlens_k == nullptr ? a.seqlen_k : a.seqlens_k[batch];
    const int scale_at = static_cast<int>(batch) * a.heads_kv + static_cast<int>(head_kv);
    const float k_scale = a.k_scale == nullptr ? 1 : a.k_scale[scale_at];
    const float v_scale = a.v_scale == nullptr ? 1 : a.v_scale[scale_at];
    for (int r = warp; r < rows * row_warps; r += warps) {
        // A row past the group is computed for nothing and not written.
        const std::int64_t head = first_head + min(r, group - 1);
        float slice[n];
        load(static_cast<const __half*>(a.q.data) + batch * a.q.batch_stride +
                 head * a.q.head_stride + lane * n,
             slice);
        for (int i = 0; i < n; ++i) {
            q[r * d + lane * n + i] = slice[i] * (a.scale * k_scale * log2_e);
        }
    }

    Part<n> row[rows];  // with the sum of this lane's keys alone
    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, length);
    for (int at = first; at < last; at += most) {
        const int keys = min(most, last - at);
        __syncthreads();  // the tile before is consumed
        stage<d>(tile_k, tile_v, a, pages, k, v, at, keys);
        __syncthreads();  // Q and this tile are there
#pragma unroll 1
        for (int key = key_warp * 32; key < keys; key += key_warps * 32) {
            float score[rows] = {};
            dot_products<d, rows>(tile_k + (key + lane) * pitch_of(d), q + row_warp * rows * d,
                                  score);
            for (int r = 0; r < rows; ++r) {
                score[r] = key + lane < keys ? score[r] : lowest;
                const float top = fmaxf(row[r].highest, max_over_warp(score[r]));
                const float keep = ptx::ex2_approx_ftz_f32(row[r].highest - top);
                const float p = ptx::ex2_approx_ftz_f32(score[r] - top);
                row[r].highest = top;
                row[r].sum = row[r].sum * keep + p;
                for (int i = 0; i < n; ++i) {
                    row[r].out[i] *= keep;
                }
                probabilities[r * 32 + lane] = p;
            }
            __syncwarp();
            add_values<d>(tile_v + key * d + lane * n, probabilities, row);
            __syncwarp();  // the probabilities are consumed
        }
    }
    for (int r = 0; r < rows; ++r) {
        row[r].sum = sum_over_warp(row[r].sum);
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
        for (float& out : whole.out) {
            out *= v_scale;
        }
        const std::int64_t head = first_head + r;
        if (parts == nullptr) {
            finish<__half>(a, batch, static_cast<int>(head), whole);
        } else {
            const std::int64_t to = (std::int64_t{batch} * a.heads_q + head) * gridDim.y + split;
            whole.write(parts + to * part_floats(d));
        }
    }
}

}  // namespace
}  // namespace raceline::kernels::fp8_kv

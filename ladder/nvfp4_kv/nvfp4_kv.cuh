// SPDX-License-Identifier: Apache-2.0
// fp8_kv on a cache of NVFP4: 4.5 bits an element. A load of 16 bytes brings 32 codes of E2M1, and
// two bytes beside it their two scales in E4M3. Byte permutes look eight codes up at a time, half
// arithmetic applies the scale; what shared memory gets is a half that holds the product exactly
// (two significant bits by four). The fp32 scales of a KV head are factors of Q and of the output.
#pragma once

#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "gpu/ptx/prmt_b32.cuh"
#include "ladder/nvfp4_kv/part.cuh"

namespace raceline::kernels::nvfp4_kv {
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

// Eight codes of E2M1, the first in the lowest bits, as the eight halves that they are: sign, two
// bits of exponent, one of mantissa, so that only the upper byte of a half is ever set.
__device__ uint4 halves_of(std::uint32_t codes, __half2 scale) {
    constexpr std::uint32_t below_2 = 0x3E3C3800, from_2 = 0x46444240;  // upper bytes of 0 … 6
    std::uint32_t pairs[4];
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t four = codes >> (16 * i);
        const std::uint32_t magnitude = ptx::prmt_b32(below_2, from_2, four & 0x7777);
        // 0x80 for each code, 0xFF if its sign is set: bit 6 tells which.
        const std::uint32_t sign = ptx::prmt_b32(0x80808080, 0x80808080, four) << 1;
        const std::uint32_t bytes = magnitude | (sign & 0x80808080);
        pairs[2 * i] = ptx::prmt_b32(bytes, 0, 0x1404);
        pairs[2 * i + 1] = ptx::prmt_b32(bytes, 0, 0x3424);
    }
    for (std::uint32_t& pair : pairs) {
        __half2 two;
        memcpy(&two, &pair, sizeof(two));
        two = __hmul2(two, scale);
        memcpy(&pair, &two, sizeof(two));
    }
    return {pairs[0], pairs[1], pairs[2], pairs[3]};
}

// 32 elements of a row as halves at `to`. Lanes are 64 bytes apart, so that a thread stores its
// four pieces of 16 bytes in its own `order`, one that lets eight lanes cover all banks.
__device__ void store_halves(__half* to, uint4 raw, std::uint16_t scales, int order) {
    const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(scales, __NV_E4M3);
    const __half2 scale = both;
    const bool swap_pairs = (order & 1) != 0, swap_halves = (order & 2) != 0;
    const std::uint32_t low[2] = {swap_pairs ? raw.y : raw.x, swap_pairs ? raw.x : raw.y};
    const std::uint32_t high[2] = {swap_pairs ? raw.w : raw.z, swap_pairs ? raw.z : raw.w};
    for (int i = 0; i < 4; ++i) {
        const bool upper = (i >= 2) != swap_halves;
        *reinterpret_cast<uint4*>(to + (i ^ order) * 8) = halves_of(
            upper ? high[i % 2] : low[i % 2], upper ? __high2half2(scale) : __low2half2(scale));
    }
}

// A tensor of the cache: where its page's codes and, behind them, its scales lie (nvfp4.hpp).
struct Cache {
    const std::uint8_t* data;
    std::int64_t page;  // elements from page to page
    int token, head;    // elements from token to token; this KV head's first

    __device__ Cache(const TensorArg& t, int head_kv)
        : data(static_cast<const std::uint8_t*>(t.data)),
          page(t.batch_stride),
          token(static_cast<int>(t.seq_stride)),
          head(head_kv * static_cast<int>(t.head_stride)) {}
    __device__ const std::uint8_t* page_at(std::int64_t index) const {
        return data + index * (page / 16 * 9);
    }
    __device__ uint4 codes(std::int64_t index, std::int64_t element) const {
        return load_16(page_at(index) + element / 2);
    }
    __device__ std::uint16_t scales(std::int64_t index, std::int64_t element) const {
        return __ldg(
            reinterpret_cast<const std::uint16_t*>(page_at(index) + page / 2 + element / 16));
    }
};

// Rows `first` … of K and V to shared memory, 16 bytes of codes a load. A thread's loads are all
// under way before the first is stored: bandwidth is bytes in flight over latency. Past the last of
// `keys` rows that one is loaded again.
template <int d>
__device__ void stage(__half* tile_k, __half* tile_v, const Pages& pages, const Cache& k,
                      const Cache& v, int first, int keys) {
    constexpr int elements = 32;            // of a load
    constexpr int chunks = d / elements;    // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    constexpr int batch = 4;
    static_assert(tile_keys(d) == step * batch);
    const int chunk = static_cast<int>(threadIdx.x % chunks);
    // Every thread stores, so that no row of a block of 32 keys is left as it was.
    const int row = static_cast<int>(threadIdx.x / chunks);
    // Eight lanes are two rows of four chunks or four of two. K's padding turns its rows by itself.
    const int order_k = chunks == 4 ? chunk & 2 : 0;
    const int order_v = chunks == 4 ? (chunk & 2) | (row & 1) : row & 3;
    uint4 raw_k[batch], raw_v[batch];
    std::uint16_t scales_k[batch], scales_v[batch];
    for (int j = 0; j < batch; ++j) {
        const int token = first + min(row + j * step, keys - 1);
        const std::int64_t page = pages.page(token);
        const std::int64_t slot = pages.slot(token);
        const std::int64_t at_k = slot * k.token + k.head + chunk * elements;
        const std::int64_t at_v = slot * v.token + v.head + chunk * elements;
        raw_k[j] = k.codes(page, at_k);
        scales_k[j] = k.scales(page, at_k);
        raw_v[j] = v.codes(page, at_v);
        scales_v[j] = v.scales(page, at_v);
    }
#pragma unroll 1
    for (int at = 0; at < 2; ++at) {
        __half* tile = at == 0 ? tile_k + chunk * elements : tile_v + chunk * elements;
        const int pitch = at == 0 ? pitch_of(d) : d;
        const int order = at == 0 ? order_k : order_v;
        for (int j = 0; j < batch; ++j) {
            store_halves(tile + (row + j * step) * pitch, at == 0 ? raw_k[j] : raw_v[j],
                         at == 0 ? scales_k[j] : scales_v[j], order);
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
    const Cache k(a.k, static_cast<int>(head_kv));
    const Cache v(a.v, static_cast<int>(head_kv));
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
        stage<d>(tile_k, tile_v, pages, k, v, at, keys);
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
}  // namespace raceline::kernels::nvfp4_kv

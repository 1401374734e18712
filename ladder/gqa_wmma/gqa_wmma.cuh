// SPDX-License-Identifier: Apache-2.0
// gqa with both products on WMMA: sixteen rows of the group against sixteen keys at a time, each of
// the four warps with keys of its own. Scores go through shared memory to become probabilities:
// WMMA does not say which element of a fragment a lane holds.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>

#include "ladder/gqa_wmma/part.cuh"

namespace raceline::kernels::gqa_wmma {
namespace {

template <class T>
__device__ uint4 load_16(const T* from) {
    return __ldg(reinterpret_cast<const uint4*>(from));
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
template <int d>
__device__ void stage(__half* tile_k, __half* tile_v, const AttentionArgs& a, const Pages& pages,
                      const __half* k, const __half* v, int first, int keys) {
    constexpr int elements = 8;             // of a load
    constexpr int chunks = d / elements;    // of a row
    constexpr int step = threads / chunks;  // rows that all threads load at once
    constexpr int batch = 4;
    static_assert(tile_keys(d) % (step * batch) == 0 && step * batch % 16 == 0);
    const int chunk = static_cast<int>(threadIdx.x % chunks) * elements;
#pragma unroll 1
    for (int from = 0; from < keys; from += step * batch) {
        // Every thread stores, so that no row of a block of sixteen keys is left as it was.
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
            const int to = (row + j * step) * pitch_of(d) + chunk;
            *reinterpret_cast<uint4*>(tile_k + to) = raw_k[j];
            *reinterpret_cast<uint4*>(tile_v + to) = raw_v[j];
        }
    }
}

using Left =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using Keys =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major>;
using Values =
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using Sums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;

// A warp's own shared memory. The pitch keeps the rows that are touched at once on distinct banks.
struct Scratch {
    float scores[16 * scratch_pitch];
    float factors[16];
    __half probabilities[16 * scratch_pitch];
};

// Which row of the sixteen each of this lane's eight sums belongs to: a matrix that says so is
// loaded to find out.
__device__ void ask_rows(Scratch& mine, int (&row_of)[8]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int i = lane; i < 256; i += 32) {
        mine.scores[i / 16 * scratch_pitch + i % 16] = static_cast<float>(i / 16);
    }
    __syncwarp();
    Sums rows;
    nvcuda::wmma::load_matrix_sync(rows, mine.scores, scratch_pitch, nvcuda::wmma::mem_row_major);
    for (int i = 0; i < 8; ++i) {
        row_of[i] = static_cast<int>(rows.x[i]);
    }
}

// Two lanes have a row between them, eight keys each. Scores become probabilities; what was summed
// before is to be multiplied by the row's factor.
__device__ void softmax(Scratch& mine, float unit, int keys, float& highest, float& sum) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int at = lane / 2 * scratch_pitch + lane % 2 * 4;
    float score[8];
    float top = highest;
    for (int i = 0; i < 8; i += 4) {
        *reinterpret_cast<float4*>(score + i) =
            *reinterpret_cast<const float4*>(mine.scores + at + 2 * i);
    }
    for (int i = 0; i < 8; ++i) {
        const int key = lane % 2 * 4 + i / 4 * 8 + i % 4;
        score[i] = key < keys ? score[i] * unit : lowest;
        top = fmaxf(top, score[i]);
    }
    top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFU, top, 1));
    const float keep = ptx::ex2_approx_ftz_f32(highest - top);
    highest = top;
    sum *= keep;
    for (int i = 0; i < 8; i += 2) {
        const float2 p = make_float2(ptx::ex2_approx_ftz_f32(score[i] - top),
                                     ptx::ex2_approx_ftz_f32(score[i + 1] - top));
        sum += p.x + p.y;
        *reinterpret_cast<__half2*>(mine.probabilities + at + i / 4 * 8 + i % 4) =
            __floats2half2_rn(p.x, p.y);
    }
    mine.factors[lane / 2] = keep;
}

// Grid: x over KV heads, y over splits, z batch. `row_warps` warps, one or two, share sixteen keys,
// and each sees another sixteen rows of the group.
template <int d>
__global__ void __launch_bounds__(threads, 2)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ __align__(32) uint4 memory[];  // as WMMA asks
    constexpr int slices = d / 16;
    constexpr int most = tile_keys(d);
    constexpr int pitch = pitch_of(d);
    const auto [head_kv, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row_warp = warp % row_warps;
    const int key_warp = warp / row_warps;
    const int key_warps = warps / row_warps;
    const int group = a.heads_q / a.heads_kv;
    const std::int64_t first_head = std::int64_t{head_kv} * group;
    auto* tile_k = reinterpret_cast<__half*>(memory);
    __half* tile_v = tile_k + most * pitch;
    Scratch& mine = reinterpret_cast<Scratch*>(tile_v + most * pitch)[warp];
    const __half* k = static_cast<const __half*>(a.k.data) + head_kv * a.k.head_stride;
    const __half* v = static_cast<const __half*>(a.v.data) + head_kv * a.v.head_stride;
    const Pages pages{
        a.block_table == nullptr ? nullptr : a.block_table + batch * a.block_table_stride,
        static_cast<int>(batch), a.page_size > 0 ? 31 - __clz(a.page_size) : 31};
    const int length = a.seqlens_k == nullptr ? a.seqlen_k : a.seqlens_k[batch];

    // Q by way of the stage. A row past the group is computed for nothing and not written.
    for (int i = static_cast<int>(threadIdx.x); i < 16 * row_warps * d / 8; i += threads) {
        const std::int64_t head = first_head + min(i / (d / 8), group - 1);
        *reinterpret_cast<uint4*>(tile_k + i / (d / 8) * pitch + i % (d / 8) * 8) =
            load_16(static_cast<const __half*>(a.q.data) + batch * a.q.batch_stride +
                    head * a.q.head_stride + i % (d / 8) * 8);
    }
    __syncthreads();
    Left q[slices];
    Sums out[slices];
    for (int c = 0; c < slices; ++c) {
        nvcuda::wmma::load_matrix_sync(q[c], tile_k + row_warp * 16 * pitch + c * 16, pitch);
        nvcuda::wmma::fill_fragment(out[c], 0.0F);
    }
    int row_of[8];
    ask_rows(mine, row_of);
    float highest = lowest, sum = 0;  // of row lane / 2; the sum of this lane's keys

    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, length);
    for (int at = first; at < last; at += most) {
        const int keys = min(most, last - at);
        __syncthreads();  // Q or the tile before is consumed
        stage<d>(tile_k, tile_v, a, pages, k, v, at, keys);
        __syncthreads();
#pragma unroll 1
        for (int key = key_warp * 16; key < keys; key += key_warps * 16) {
            Sums score;
            nvcuda::wmma::fill_fragment(score, 0.0F);
            for (int c = 0; c < slices; ++c) {
                Keys right;
                nvcuda::wmma::load_matrix_sync(right, tile_k + key * pitch + c * 16, pitch);
                nvcuda::wmma::mma_sync(score, q[c], right, score);
            }
            nvcuda::wmma::store_matrix_sync(mine.scores, score, scratch_pitch,
                                            nvcuda::wmma::mem_row_major);
            __syncwarp();
            softmax(mine, a.scale * log2_e, keys - key, highest, sum);
            __syncwarp();
            Left p;
            nvcuda::wmma::load_matrix_sync(p, mine.probabilities, scratch_pitch);
            float factor[8];
            for (int i = 0; i < 8; ++i) {
                factor[i] = mine.factors[row_of[i]];
            }
            for (int c = 0; c < slices; ++c) {
                Values right;
                nvcuda::wmma::load_matrix_sync(right, tile_v + key * pitch + c * 16, pitch);
                for (int i = 0; i < 8; ++i) {
                    out[c].x[i] *= factor[i];
                }
                nvcuda::wmma::mma_sync(out[c], p, right, out[c]);
            }
        }
    }
    // What the key warps know of a row meets in shared memory; a warp merges and writes each row.
    auto* all = reinterpret_cast<float*>(memory);
    float* own = all + warp * 16 * part_floats(d);
    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    __syncthreads();
    for (int c = 0; c < slices; ++c) {
        nvcuda::wmma::store_matrix_sync(own + c * 16, out[c], part_floats(d),
                                        nvcuda::wmma::mem_row_major);
    }
    own[lane / 2 * part_floats(d) + d] = highest;
    own[lane / 2 * part_floats(d) + d + 1] = sum;
    __syncthreads();
    for (int r = warp; r < group; r += warps) {
        Part<d / 32> whole;
        for (int from = 0; from < key_warps; ++from) {
            Part<d / 32> other;
            other.read(all + (from * row_warps * 16 + r) * part_floats(d));
            whole.merge(other);
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
}  // namespace raceline::kernels::gqa_wmma

// SPDX-License-Identifier: Apache-2.0
// mla on Hopper's matrix engine: 64 heads are the rows of both products. A CTA copies tiles of 64
// keys into shared memory, one ahead, where they are K, by rows, and V, by columns, of the same
// bytes. Of two warpgroups each finds the scores of 32 keys and adds up 256 of the 512 value
// columns; they tell each other the rows' maxima and the probabilities.
#include <cstdint>
#include <cstring>
#include <cuda_fp16.h>

#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k16.cuh"
#include "ladder/decode/mla_tensor/mla_tensor.hpp"
#include "ladder/decode/paged/paged.cuh"

namespace raceline::kernels::mla_tensor {

using namespace decode;

extern __shared__ char dynamic_shared[];

namespace {

// Where this CTA stands in the call. CTAs that share keys are neighbours.
struct Place {
    int first_head, heads, split, batch;

    __device__ Place(const AttentionArgs& a, int splits) {
        const int blocks = (a.heads_q + most_heads - 1) / most_heads;
        const int index = static_cast<int>(blockIdx.x);
        first_head = index % blocks * most_heads;
        heads = min(most_heads, a.heads_q - first_head);
        split = index / blocks % splits;
        batch = index / blocks / splits;
    }
};

inline __device__ const __half* token_at(const TensorArg& t, const paged::Pages& pages, int at) {
    const std::int64_t page = pages.page(at);
    const std::int64_t slot = at & ((1U << pages.shift) - 1);
    return static_cast<const __half*>(t.data) + page * t.batch_stride + slot * t.seq_stride;
}

// Starts to copy 64 rows of 72 chunks of 16 bytes into nine slabs, as the 128-byte swizzle places
// them: chunks of a row exchanged by the row's place among eight. A row that is null becomes zeros.
template <class RowAt>
__device__ void fetch(std::uint32_t to, const void* any, RowAt row_at) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const auto copy = [&](int row, int chunk, const __half* from) {
        const int place = (chunk / 8 * 64 + row) * 128 + ((chunk % 8) ^ (row % 8)) * 16;
        ptx::cp_async_cg_16(to + place, from == nullptr ? any : from + chunk * 8,
                            from == nullptr ? 0 : 16);
    };
    for (int four = warp * (64 / warps); four < (warp + 1) * (64 / warps); four += 4) {
        for (int row = four; row < four + 4; ++row) {
            const __half* from = row_at(row);
            copy(row, lane, from);
            copy(row, lane + 32, from);
        }
        copy(four + lane / 8, 64 + lane % 8, row_at(four + lane / 8));
    }
    ptx::cp_async_commit_group();
}

// What a thread knows of its two rows, fragment rows lane / 4 and 8 further on.
struct Rows {
    float highest[2] = {lowest, lowest};  // score, in units of log2
    float sum[2] = {0, 0};                // of this thread's own exponentials
};

// Starts Q·Kᵀ of 64 rows by 32 keys.
__device__ void start_scores(float (&score)[16], std::uint32_t q, std::uint32_t k) {
    const std::uint64_t a = ptx::wgmma_descriptor_k_major_128b(q);
    const std::uint64_t b = ptx::wgmma_descriptor_k_major_128b(k);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < width / 16; ++step) {
        // In units of 16 bytes: a slab of four steps, a step of 32 bytes within its rows.
        const int at = step / 4 * (slab_bytes / 16) + step % 4 * 2;
        ptx::wgmma_k16_f16_ss(score, a + at, b + at, step > 0);
    }
    ptx::wgmma_commit_group();
}

// Starts to add P·V of 32 keys by 256 columns.
__device__ void start_values(float (&out)[128], std::uint32_t (&p)[2][4], std::uint32_t v) {
    const std::uint64_t b = ptx::wgmma_descriptor_mn_major_128b(v, slab_bytes);
    for (auto& step : p) {
        for (std::uint32_t& word : step) {
            word = ptx::recomputed(word);  // in its register before the fence
        }
    }
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 2; ++step) {
        ptx::wgmma_k16_f16_rs_t(out, p[step], b + step * (16 * 128 / 16), true);
    }
    ptx::wgmma_commit_group();
}

// What the two threads that hold the same rows in both warpgroups tell each other.
struct Exchange {
    uint4 words[2][2][128];  // of a warpgroup's probabilities
    float2 numbers[2][128];  // maxima or sums of its rows
};

// The rows' maxima, of this tile and those before, in both warpgroups; `keep` is what older sums
// and outputs are worth now.
__device__ void raise(Rows& rows, const float (&score)[16], Exchange& exchange, float (&keep)[2]) {
    const int group = static_cast<int>(threadIdx.x / 128);
    const int thread = static_cast<int>(threadIdx.x % 128);
    float top[2] = {lowest, lowest};
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        top[i / 2 % 2] = fmaxf(top[i / 2 % 2], score[i]);
    }
    for (float& x : top) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 1));
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, 2));
    }
    exchange.numbers[group][thread] = make_float2(top[0], top[1]);
    __syncthreads();
    const float2 other = exchange.numbers[1 - group][thread];
    const float both[2] = {fmaxf(top[0], other.x), fmaxf(top[1], other.y)};
    for (int i = 0; i < 2; ++i) {
        const float now = fmaxf(rows.highest[i], both[i]);
        keep[i] = ptx::ex2_approx_ftz_f32(rows.highest[i] - now);
        rows.highest[i] = now;
        rows.sum[i] *= keep[i];
    }
}

// Scores to probabilities, as the A operand of two steps of 16 keys: its layout is the scores' own.
__device__ void exponentiate(Rows& rows, const float (&score)[16], std::uint32_t (&p)[2][4]) {
#pragma unroll
    for (int word = 0; word < 8; ++word) {
        const int row = word % 2;
        const float x = ptx::ex2_approx_ftz_f32(score[2 * word] - rows.highest[row]);
        const float y = ptx::ex2_approx_ftz_f32(score[2 * word + 1] - rows.highest[row]);
        rows.sum[row] += x + y;
        const __half2 two = __floats2half2_rn(x, y);
        memcpy(&p[word / 4][word % 4], &two, sizeof(two));
    }
}

// The CTA's rows to memory: final ones, or as parts of a split.
__device__ void write_rows(const AttentionArgs& a, const Place& at, int splits,
                           const float (&out)[128], const Rows& rows, Exchange& exchange,
                           float* parts) {
    const int group = static_cast<int>(threadIdx.x / 128);
    const int thread = static_cast<int>(threadIdx.x % 128);
    float sum[2] = {rows.sum[0], rows.sum[1]};
    for (float& x : sum) {
        x += __shfl_xor_sync(0xFFFFFFFFU, x, 1);
        x += __shfl_xor_sync(0xFFFFFFFFU, x, 2);
    }
    exchange.numbers[group][thread] = make_float2(sum[0], sum[1]);
    __syncthreads();
    const float2 other = exchange.numbers[1 - group][thread];
    const float total[2] = {sum[0] + other.x, sum[1] + other.y};
    for (int i = 0; i < 2; ++i) {
        const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * i;
        const int column = group * 256 + thread % 4 * 2;
        if (row >= at.heads) {
            continue;
        }
        const std::int64_t head = at.first_head + row;
        if (parts != nullptr) {
            const std::int64_t part =
                (at.batch * std::int64_t{a.heads_q} + head) * splits + at.split;
            float* to = parts + part * part_floats;
#pragma unroll
            for (int j = 0; j < 32; ++j) {
                *reinterpret_cast<float2*>(to + column + 8 * j) =
                    make_float2(out[4 * j + 2 * i], out[4 * j + 2 * i + 1]);
            }
            to[latent] = rows.highest[i];
            to[latent + 1] = total[i];
            continue;
        }
        const float factor = total[i] > 0 ? 1 / total[i] : 0;  // no keys: 0
        __half* to = static_cast<__half*>(a.out.data) + at.batch * a.out.batch_stride +
                     head * a.out.head_stride;
#pragma unroll
        for (int j = 0; j < 32; ++j) {
            *reinterpret_cast<__half2*>(to + column + 8 * j) =
                __floats2half2_rn(out[4 * j + 2 * i] * factor, out[4 * j + 2 * i + 1] * factor);
        }
        if (column == 0 && a.lse != nullptr) {
            a.lse[at.batch * a.lse_batch_stride + head * a.lse_head_stride] =
                total[i] > 0 ? (rows.highest[i] + log2f(total[i])) * ln_2 : -INFINITY;
        }
    }
}

// A CTA for every block of 64 heads, split and sequence.
template <int>
__global__ void __launch_bounds__(threads, 1)
    partial(const __grid_constant__ AttentionArgs a, int splits, int keys_per_split, float* parts) {
    const Place at(a, splits);
    const int group = static_cast<int>(threadIdx.x / 128);
    const int thread = static_cast<int>(threadIdx.x % 128);
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const std::uint32_t q = (start + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes;
    auto& exchange = *reinterpret_cast<Exchange*>(dynamic_shared + (q - start) + 3 * operand_bytes);
    const paged::Pages pages = paged::pages_of(a, at.batch);
    const int length = paged::length_of(a, at.batch);
    const int first = at.split * keys_per_split;
    const int last = min(first + keys_per_split, length);
    const auto fetch_keys = [&](int from, std::uint32_t to) {
        fetch(to, a.k.data, [&](int row) {
            return from + row < last ? token_at(a.k, pages, from + row) : nullptr;
        });
    };
    fetch(q, a.q.data, [&](int row) {
        return row < at.heads ? static_cast<const __half*>(a.q.data) + at.batch * a.q.batch_stride +
                                    (at.first_head + row) * a.q.head_stride
                              : nullptr;
    });

    const float unit = a.scale * log2_e;
    float out[128] = {};
    Rows rows;
    std::uint32_t stage = q + operand_bytes, next = stage + operand_bytes;
    fetch_keys(first, stage);
    for (int from = first; from < last; from += tile_keys) {
        ptx::cp_async_wait_group<0>();
        ptx::fence_proxy_async_shared();
        __syncthreads();  // this tile is there, and nobody reads the one before
        float score[16];
        start_scores(score, q, stage + group * (32 * 128));
        fetch_keys(from + tile_keys, next);
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(score);
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const int key = from + group * 32 + i / 4 * 8 + thread % 4 * 2 + i % 2;
            score[i] = key < last ? score[i] * unit : lowest;
        }
        float keep[2];
        raise(rows, score, exchange, keep);
        std::uint32_t own[2][4], other[2][4];
        exponentiate(rows, score, own);
#pragma unroll
        for (int i = 0; i < 128; ++i) {
            out[i] *= keep[i / 2 % 2];
        }
        ptx::pin_registers(out);
        // Columns of this warpgroup, first with the keys that it knows, then with the other's.
        const std::uint32_t v = stage + group * (4 * slab_bytes);
        start_values(out, own, v + group * (32 * 128));
        for (int i = 0; i < 2; ++i) {
            exchange.words[group][i][thread] =
                make_uint4(own[i][0], own[i][1], own[i][2], own[i][3]);
        }
        __syncthreads();
        for (int i = 0; i < 2; ++i) {
            const uint4 words = exchange.words[1 - group][i][thread];
            other[i][0] = words.x;
            other[i][1] = words.y;
            other[i][2] = words.z;
            other[i][3] = words.w;
        }
        start_values(out, other, v + (1 - group) * (32 * 128));
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(out);
        const std::uint32_t done = stage;
        stage = next;
        next = done;
    }
    ptx::cp_async_wait_group<0>();
    __syncthreads();  // the last maxima have been read
    write_rows(a, at, splits, out, rows, exchange, parts);
}

}  // namespace
static_assert(sizeof(Exchange) + 3 * operand_bytes + swizzle_bytes == smem_bytes);

void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    const Launch call = cut("mla_tensor", a, layout_of, tiles.at(tile), device, workspace, stream);
    call.check_tensors(false);
    if (call.plan.groups > 0) {
        call.enqueue(partial<0>, merge<__half, latent, warps, 2, 0>,
                     dim3(static_cast<unsigned>(call.plan.groups * call.plan.splits)), threads,
                     static_cast<int>(call.plan.splits));
    }
}

}  // namespace raceline::kernels::mla_tensor

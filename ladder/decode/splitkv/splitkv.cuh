// SPDX-License-Identifier: Apache-2.0
// One query token a sequence. With one row a head, a CTA for each row would leave most of the GPU
// idle, so the keys are split over CTAs. Each leaves what it knows of its row, and a second launch
// merges. Inside a CTA a warp no longer has a row of its own: the warps share the row's keys.
#pragma once

#include "ladder/decode/launch.cuh"
#include "ladder/decode/splitkv/splitkv.hpp"
#include "ladder/decode/stage.cuh"

namespace raceline::kernels::splitkv {

using namespace decode;

// Where a sequence's rows of K and V lie for one KV head: one after the other.
template <class T>
struct Contiguous {
    const AttentionArgs& a;
    const T *k, *v;
    int length;  // of the sequence

    __device__ Contiguous(const AttentionArgs& args, unsigned batch, std::int64_t head_kv)
        : a(args),
          k(row_at<T>(a.k, batch, head_kv)),
          v(row_at<T>(a.v, batch, head_kv)),
          length(a.seqlen_k) {}
    __device__ std::int64_t place(int token) const { return token; }
    __device__ const T* k_at(std::int64_t place) const {
        return k + place * static_cast<int>(a.k.seq_stride);
    }
    __device__ const T* v_at(std::int64_t place) const {
        return v + place * static_cast<int>(a.v.seq_stride);
    }
};

namespace {

// Grid: x over query heads (those that share a KV head run side by side), y over splits, z batch.
template <class T, int d, class Cache>
__global__ void __launch_bounds__(threads, 2)
    partial(const __grid_constant__ AttentionArgs a, int keys_per_split, float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row that a lane holds
    constexpr int most = tile_keys(stage_bytes, d, sizeof(T));
    const auto [head, split, batch] = uint3(blockIdx);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    T* tile_k = reinterpret_cast<T*>(memory);
    T* tile_v = tile_k + most * d;
    const Cache cache(a, batch, head / (a.heads_q / a.heads_kv));
    float q[n];
    load(row_at<T>(a.q, batch, head) + lane * n, q);

    Part<n> row;
    const int first = static_cast<int>(split) * keys_per_split;
    const int last = min(first + keys_per_split, cache.length);
    for (int at = first; at < last; at += most) {
        const int keys = min(most, last - at);
        __syncthreads();  // the tile before is consumed
        stage<T, d, most>(tile_k, tile_v, cache, at, keys);
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
    __syncthreads();
    row.gather(reinterpret_cast<float*>(memory));
    if (warp == 0 && parts == nullptr) {
        finish<T>(a, batch, head, row);
    } else if (warp == 0) {
        row.write(part_at<d>(parts, a, batch, head, split));
    }
}

}  // namespace

// Enqueues `partial` for a cache of this kind.
template <template <class> class Cache>
void launch_rows(const Launch& call) {
    with_call<float, __half>(call, [&](auto zero, auto d) {
        using T = decltype(zero);
        call.enqueue_heads(call.args.heads_q, partial<T, d(), Cache<T>>, merge<T, d()>);
    });
}

}  // namespace raceline::kernels::splitkv

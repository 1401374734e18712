// SPDX-License-Identifier: Apache-2.0
// gqa with a key for every lane: a lane computes its key's whole dot product, so that scores stay
// where they are and a row is reduced once for 32 keys, not five shuffles a key. To be read by 32
// lanes at once, rows of K are 16 bytes longer in shared memory, and Q and the probabilities lie
// there, too.
#pragma once

#include "ladder/decode/gqa/gqa.cuh"
#include "ladder/decode/gqa_scorestationary/gqa_scorestationary.hpp"

namespace raceline::kernels::gqa_scorestationary {

using namespace decode;

inline __device__ float max_over_warp(float x) {
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        x = fmaxf(x, __shfl_xor_sync(0xFFFFFFFFU, x, lanes));
    }
    return x;
}

struct Unscaled {
    float k = 1, v = 1;
};

// A cache of halves, copied as they are. Other caches are decoded and scaled.
struct Halves : paged::Cache<__half> {
    static constexpr bool scaled = false;
    static constexpr Unscaled scale{};

    using paged::Cache<__half>::Cache;
    template <int d>
    __device__ void stage(__half* tile_k, __half* tile_v, int first, int keys) const {
        stage_blocks<d, 8, tile_keys(d), 32>(
            *this, first, keys, [&](int to, int chunk, uint4 raw_k, uint4 raw_v) {
                *reinterpret_cast<uint4*>(tile_k + to * pitch_of(d) + chunk) = raw_k;
                *reinterpret_cast<uint4*>(tile_v + to * d + chunk) = raw_v;
            });
    }
};

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

namespace {

// `rows` is what a warp holds; `row_warps` warps share 32 keys, and each sees another part of the
// group.
template <int d, int rows, class Cache>
__global__ void __launch_bounds__(threads, 3)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row of outputs that a lane holds
    constexpr int most = tile_keys(d);
    const gqa::Share at(a, row_warps);
    auto* tile_k = reinterpret_cast<__half*>(memory);
    __half* tile_v = tile_k + most * pitch_of(d);
    auto* probabilities = reinterpret_cast<float*>(tile_v + most * d) + at.warp * rows * 32;
    float* q = reinterpret_cast<float*>(tile_v + most * d) + warps * rows * 32;
    const Cache cache(a, at.block.z, at.block.x);
    for (int r = at.warp; r < rows * row_warps; r += warps) {
        float slice[n];
        load(at.query<__half>(a, r) + at.lane * n, slice);
        for (int i = 0; i < n; ++i) {
            q[r * d + at.lane * n + i] = slice[i] * (a.scale * cache.scale.k * log2_e);
        }
    }

    Part<n> row[rows];  // with the sum of this lane's keys alone
    const int first = static_cast<int>(at.block.y) * keys_per_split;
    const int last = min(first + keys_per_split, cache.length);
    for (int from = first; from < last; from += most) {
        const int keys = min(most, last - from);
        __syncthreads();  // the tile before is consumed
        cache.template stage<d>(tile_k, tile_v, from, keys);
        __syncthreads();  // Q and this tile are there
#pragma unroll 1
        for (int key = at.key_warp * 32; key < keys; key += at.key_warps * 32) {
            float score[rows] = {};
            dot_products<d, rows>(tile_k + (key + at.lane) * pitch_of(d),
                                  q + at.row_warp * rows * d, score);
            for (int r = 0; r < rows; ++r) {
                score[r] = key + at.lane < keys ? score[r] : lowest;
                const float top = fmaxf(row[r].highest, max_over_warp(score[r]));
                const float keep = ptx::ex2_approx_ftz_f32(row[r].highest - top);
                const float p = ptx::ex2_approx_ftz_f32(score[r] - top);
                row[r].highest = top;
                row[r].sum = row[r].sum * keep + p;
                for (int i = 0; i < n; ++i) {
                    row[r].out[i] *= keep;
                }
                probabilities[r * 32 + at.lane] = p;
            }
            __syncwarp();
            add_values<d>(tile_v + key * d + at.lane * n, probabilities, row);
            __syncwarp();  // the probabilities are consumed
        }
    }
    for (int r = 0; r < rows; ++r) {
        row[r].sum = sum_over_warp(row[r].sum);
    }
    auto* all = reinterpret_cast<float*>(memory);
    gqa::meet(all, at, row);
    for (int r = at.warp; r < at.group; r += warps) {
        Part<n> whole;
        for (int from = 0; from < at.key_warps; ++from) {
            Part<n> other;
            other.read(all + (from * at.row_warps * rows + r) * part_floats(d));
            whole.merge(other);
        }
        if constexpr (Cache::scaled) {
            for (float& out : whole.out) {
                out *= cache.scale.v;
            }
        }
        gqa::leave<__half>(a, at, r, whole, parts);
    }
}

}  // namespace

// Enqueues `partial` for this cache.
template <class Cache>
void launch_cache(const Launch& call) {
    gqa::launch_groups<__half>(call,
                               [](auto, auto d, auto rows) { return partial<d(), rows(), Cache>; });
}

}  // namespace raceline::kernels::gqa_scorestationary

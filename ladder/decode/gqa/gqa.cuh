// SPDX-License-Identifier: Apache-2.0
// paged with the query heads of a group packed: a CTA has all rows that read one KV head, so that K
// and V cross from global to shared memory once a group. A warp holds up to eight rows; a larger
// group is spread over warps, and the warps that are left divide the keys.
#pragma once

#include "ladder/decode/gqa/gqa.hpp"
#include "ladder/decode/paged/paged.cuh"

namespace raceline::kernels::gqa {

using namespace decode;
using paged::Cache;

// What a CTA and a warp of it have of the call. `row_warps` warps share a key, and each sees
// another part of the group. Grid: x over KV heads, y over splits, z batch.
struct Share {
    uint3 block;  // KV head, split, batch
    int warp, lane, row_warps, row_warp, key_warp, key_warps, group;
    std::int64_t first_head;

    __device__ Share(const AttentionArgs& a, int its_row_warps)
        : block(blockIdx),
          warp(static_cast<int>(threadIdx.x / 32)),
          lane(static_cast<int>(threadIdx.x % 32)),
          row_warps(its_row_warps),
          row_warp(warp % row_warps),
          key_warp(warp / row_warps),
          key_warps(warps / row_warps),
          group(a.heads_q / a.heads_kv),
          first_head(std::int64_t{block.x} * group) {}
    // Row `row` of the group, in Q. One past the group is computed for nothing and not written.
    template <class T>
    __device__ const T* query(const AttentionArgs& a, int row) const {
        const std::int64_t head = first_head + min(row, group - 1);
        return row_at<T>(a.q, block.z, head);
    }
    // A lane's slices of the rows that its warp holds.
    template <class T, int n, int rows>
    __device__ void load_queries(const AttentionArgs& a, float (&q)[rows][n]) const {
        for (int r = 0; r < rows; ++r) {
            load(query<T>(a, row_warp * rows + r) + lane * n, q[r]);
        }
    }
};

// The rows of all warps to shared memory, which they have done with.
template <int n, int rows>
__device__ void meet(float* all, const Share& at, const Part<n> (&row)[rows]) {
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
        row[r].write(all + (at.warp * rows + r) * part_floats(32 * n));
    }
    __syncthreads();
}

// Row `r` of the group leaves the CTA: as the answer, or as a part if its keys are split.
template <class T, int n>
__device__ void leave(const AttentionArgs& a, const Share& at, int r, const Part<n>& whole,
                      float* parts) {
    const std::int64_t head = at.first_head + r;
    if (parts == nullptr) {
        finish<T>(a, at.block.z, static_cast<int>(head), whole);
    } else {
        whole.write(part_at<32 * n>(parts, a, at.block.z, head, at.block.y));
    }
}

// A tile's rows of K and V in shared memory, and so many CTAs on an SM.
template <int its_ctas, std::int64_t its_stage_bytes>
struct Staged {
    static constexpr int ctas = its_ctas;

    template <class T, int d>
    struct Tile {
        static constexpr int most = tile_keys(its_stage_bytes, d, sizeof(T));
        static constexpr int stride = 0;
        __device__ Tile(T*, const Cache<T>&, int, int) {}
        // With the rows from `from` on.
        __device__ void fill(T* stage, const Cache<T>& cache, int from, int keys, int, int) {
            __syncthreads();  // the tile before is consumed
            decode::stage<T, d, most>(stage, stage + most * d, cache, from, keys);
            __syncthreads();
        }
        __device__ void release() {}
    };
};

namespace {

// `rows` is what a warp holds.
template <class T, int d, int rows, class Stage>
__global__ void __launch_bounds__(threads, Stage::ctas)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row that a lane holds
    const Share at(a, row_warps);
    const Cache<T> cache(a, at.block.z, at.block.x);
    float q[rows][n];
    at.load_queries<T>(a, q);
    Part<n> row[rows];
    const int first = static_cast<int>(at.block.y) * keys_per_split;
    const int last = min(first + keys_per_split, cache.length);
    auto* stage = reinterpret_cast<T*>(memory);
    typename Stage::template Tile<T, d> tile(stage, cache, first, last);
    for (int from = first, buffer = 0; from < last; from += tile.most, buffer ^= 1) {
        const int keys = min(tile.most, last - from);
        const T* tile_k = stage + buffer * tile.stride;
        const T* tile_v = tile_k + tile.most * d;
        tile.fill(stage, cache, from, keys, last, buffer);
#pragma unroll 1
        for (int key = at.key_warp; key < keys; key += at.key_warps) {
            float slice[n];
            float score[rows] = {};
            load(tile_k + key * d + at.lane * n, slice);
            for (int r = 0; r < rows; ++r) {
                for (int i = 0; i < n; ++i) {
                    score[r] = fmaf(q[r][i], slice[i], score[r]);
                }
            }
            Part<n> one{.sum = 1};
            load(tile_v + key * d + at.lane * n, one.out);
            for (int r = 0; r < rows; ++r) {
                one.highest = sum_over_warp(score[r]) * (a.scale * log2_e);
                row[r].merge(one);
            }
        }
        tile.release();
    }
    auto* all = reinterpret_cast<float*>(memory);
    meet(all, at, row);
    for (int r = at.warp; r < at.group; r += warps) {
        Part<n> whole;
        for (int from = 0; from < at.key_warps; ++from) {
            Part<n> other;
            other.read(all + (from * at.row_warps * rows + r) * part_floats(d));
            whole.merge(other);
        }
        leave<T>(a, at, r, whole, parts);
    }
}

}  // namespace

// Enqueues what `partial_of` gives for the type of Q, the head dim and the rows of a warp.
template <class... Types, class PartialOf>
void launch_groups(const Launch& call, const PartialOf& partial_of) {
    const Packing packing = packing_of(call.args.heads_q / call.args.heads_kv);
    with_call<Types...>(call, [&](auto zero, auto d) {
        with_value<1, 2, 4, 8>(packing.rows, [&](auto rows) {
            call.enqueue_heads(call.args.heads_kv, partial_of(zero, d, rows),
                               merge<decltype(zero), d()>, packing.row_warps);
        });
    });
}

}  // namespace raceline::kernels::gqa

// SPDX-License-Identifier: Apache-2.0
// gqa with the loop over keys unrolled by four: the dot products, shuffles and exponentials of four
// keys do not wait for each other, and the outputs are rescaled once for all four. Keys past the
// end take part with no weight, so that no branch stands between the chains.
#include "ladder/decode/gqa/gqa.cuh"

namespace raceline::kernels::gqa_ilp {

using namespace decode;

constexpr int unrolled = 4;  // keys that a warp takes at a time

template <int n>
__device__ void merge_keys(Part<n>& row, const float (&score)[unrolled],
                           const float (&v)[unrolled][n]) {
    float top = row.highest;
    for (int u = 0; u < unrolled; ++u) {
        top = fmaxf(top, score[u]);
    }
    const float keep = ptx::ex2_approx_ftz_f32(row.highest - top);
    row.highest = top;
    row.sum *= keep;
    for (int i = 0; i < n; ++i) {
        row.out[i] *= keep;
    }
    for (int u = 0; u < unrolled; ++u) {
        const float p = ptx::ex2_approx_ftz_f32(score[u] - top);
        row.sum += p;
        for (int i = 0; i < n; ++i) {
            row.out[i] = fmaf(p, v[u][i], row.out[i]);
        }
    }
}

namespace {

template <class T, int d, int rows>
__global__ void __launch_bounds__(threads, 2)
    partial(const __grid_constant__ AttentionArgs a, int row_warps, int keys_per_split,
            float* parts) {
    extern __shared__ uint4 memory[];
    constexpr int n = d / 32;  // elements of a row that a lane holds
    constexpr int most = tile_keys(stage_bytes, d, sizeof(T));
    const gqa::Share at(a, row_warps);
    T* tile_k = reinterpret_cast<T*>(memory);
    T* tile_v = tile_k + most * d;
    const paged::Cache<T> cache(a, at.block.z, at.block.x);
    float q[rows][n];
    at.load_queries<T>(a, q);
    Part<n> row[rows];
    const int first = static_cast<int>(at.block.y) * keys_per_split;
    const int last = min(first + keys_per_split, cache.length);
    for (int from = first; from < last; from += most) {
        const int keys = min(most, last - from);
        __syncthreads();  // the tile before is consumed
        decode::stage<T, d, most>(tile_k, tile_v, cache, from, keys);
        __syncthreads();
#pragma unroll 1
        for (int key = at.key_warp * unrolled; key < keys; key += at.key_warps * unrolled) {
            float slice[unrolled][n];
            float score[rows][unrolled] = {};
            for (int u = 0; u < unrolled; ++u) {
                load(tile_k + min(key + u, keys - 1) * d + at.lane * n, slice[u]);
            }
            for (int r = 0; r < rows; ++r) {
                for (int u = 0; u < unrolled; ++u) {
                    for (int i = 0; i < n; ++i) {
                        score[r][u] = fmaf(q[r][i], slice[u][i], score[r][u]);
                    }
                    const float sum = sum_over_warp(score[r][u]);
                    score[r][u] = key + u < keys ? sum * (a.scale * log2_e) : lowest;
                }
            }
            for (int u = 0; u < unrolled; ++u) {
                load(tile_v + min(key + u, keys - 1) * d + at.lane * n, slice[u]);
            }
            for (int r = 0; r < rows; ++r) {
                merge_keys(row[r], score[r], slice);
            }
        }
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
        gqa::leave<T>(a, at, r, whole, parts);
    }
}

}  // namespace
void launch(const AttentionArgs& a, int tile, const Device& device, void* workspace, void* stream) {
    gqa::launch_groups<float, __half>(
        cut("gqa_ilp", a, gqa::layout_of, tiles.at(tile), device, workspace, stream),
        [](auto zero, auto d, auto rows) { return partial<decltype(zero), d(), rows()>; });
}

}  // namespace raceline::kernels::gqa_ilp

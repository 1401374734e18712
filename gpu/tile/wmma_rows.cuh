// SPDX-License-Identifier: Apache-2.0
// Plain attention by WMMA: a warp has sixteen query rows, because the smallest matrix that it can
// multiply has sixteen. A fragment's elements are spread over the warp in an order that is not ours
// to know, so whatever is done row by row happens in shared memory: scores are stored there for the
// softmax, probabilities are read from there, and so are the factors that rescale the output, which
// itself stays in fragments. Two lanes share a row.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "gpu/tile/row_tile.cuh"
#include "gpu/tile/wmma_shared.hpp"

namespace raceline::gpu {

namespace mma = nvcuda::wmma;
using Accumulator = mma::fragment<mma::accumulator, side, side, side, float>;
using Left = mma::fragment<mma::matrix_a, side, side, side, __half, mma::row_major>;
using Right = mma::fragment<mma::matrix_b, side, side, side, __half, mma::row_major>;
/// K has keys as rows, and its transpose is wanted.
using RightTransposed = mma::fragment<mma::matrix_b, side, side, side, __half, mma::col_major>;

template <int columns>
__device__ void clear(Accumulator (&outputs)[columns]) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        mma::fill_fragment(outputs[c], 0.F);
    }
}

/// Sixteen rows of S = Q K^T, into shared memory.
template <int headdim, int width_s, int width, int tile_keys>
__device__ void multiply_scores(float (&s)[side][width_s], const __half (*q)[width],
                                const __half (&k)[tile_keys][width]) {
    Left left;
    RightTransposed right;
#pragma unroll
    for (int key = 0; key < tile_keys; key += side) {
        Accumulator sums;
        mma::fill_fragment(sums, 0.F);
#pragma unroll
        for (int d = 0; d < headdim; d += side) {
            mma::load_matrix_sync(left, &q[0][d], width);
            mma::load_matrix_sync(right, &k[key][d], width);
            mma::mma_sync(sums, left, right, sums);
        }
        mma::store_matrix_sync(&s[0][key], sums, width_s, mma::mem_row_major);
    }
}

/// O += P V.
template <int columns, int width_p, int width, int tile_keys>
__device__ void multiply_values(Accumulator (&outputs)[columns], const __half (&p)[side][width_p],
                                const __half (&v)[tile_keys][width]) {
    Left left;
    Right right;
#pragma unroll
    for (int key = 0; key < tile_keys; key += side) {
        mma::load_matrix_sync(left, &p[0][key], width_p);
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            mma::load_matrix_sync(right, &v[key][c * side], width);
            mma::mma_sync(outputs[c], left, right, outputs[c]);
        }
    }
}

/// Four neighbours of a row.
inline __device__ float4& four(float* at) {
    return *reinterpret_cast<float4*>(at);
}
/// Scales them, of which the row sees the first `left`.
inline __device__ void mask(float4& x, float scale, int left) {
    x = {left > 0 ? x.x * scale : -INFINITY, left > 1 ? x.y * scale : -INFINITY,
         left > 2 ? x.z * scale : -INFINITY, left > 3 ? x.w * scale : -INFINITY};
}
inline __device__ float highest_of(float4 x) {
    return fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
}
inline __device__ float4 exponentials(float4 x, float highest) {
    return {expf(x.x - highest), expf(x.y - highest), expf(x.z - highest), expf(x.w - highest)};
}
inline __device__ float sum_of(float4 x, float sum) {
    return sum + (x.x + x.y + x.z + x.w);
}

/// What of a row a lane has: every other group of four columns. This and whatever may stand in its
/// place says where rows lie in a warp (`row`, `part`, the other lane's `partner`), and how groups
/// of `width` neighbours are read, written and computed with.
struct Quads {
    static constexpr int width = 4;
    static constexpr int partner = 1;  ///< exclusive or of the two lanes' numbers
    using Group = float4;
    int row = static_cast<int>(threadIdx.x % 32 / 2);
    int part = static_cast<int>(threadIdx.x % 2);

    __device__ Group load(float* at) const { return four(at); }
    __device__ void store_p(__half* at, Group x) const {
        struct alignas(8) Quad {
            __half2 low, high;
        };
        *reinterpret_cast<Quad*>(at) = {__floats2half2_rn(x.x, x.y), __floats2half2_rn(x.z, x.w)};
    }
    template <int width_f>
    __device__ void spread(float (&factors)[side][width_f], float factor) const {
        four(&factors[row][4 * part]) = {factor, factor, factor, factor};
        four(&factors[row][4 * part + 8]) = {factor, factor, factor, factor};
    }
};

/// Every row of O times its own factor. A matrix whose rows are the factors is loaded like O
/// itself: wherever a row's elements lie, its factor lies beside them.
template <class Lanes, int columns, int width>
__device__ void scale_rows(const Lanes& lanes, Accumulator (&outputs)[columns],
                           float (&factors)[side][width], float factor) {
    lanes.spread(factors, factor);
    __syncwarp();
    Accumulator all;
    mma::load_matrix_sync(all, &factors[0][0], width, mma::mem_row_major);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
        for (int i = 0; i < all.num_elements; ++i) {
            outputs[c].x[i] *= all.x[i];
        }
    }
}

/// A lane's groups of a row of scores, scaled and masked: the row sees `keys`, and the tile begins
/// at `first_key`. Returns the highest so far, the same in both lanes.
template <class Lanes, int groups, int width_s>
__device__ float load_scores(const Lanes& lanes, typename Lanes::Group (&x)[groups],
                             float (&s)[side][width_s], float scale, int keys, int first_key,
                             float highest) {
    constexpr int own = Lanes::width;
#pragma unroll
    for (int i = 0; i < groups; ++i) {
        const int left = keys - first_key - 2 * own * i - own * lanes.part;  // of these and after
        x[i] = lanes.load(&s[lanes.row][2 * own * i + own * lanes.part]);
        mask(x[i], scale, left);
        highest = fmaxf(highest, highest_of(x[i]));
    }
    return fmaxf(highest, __shfl_xor_sync(0xFFFFFFFFU, highest, Lanes::partner));
}

/// Scores to probabilities, and their sum, now from the maximum `highest`. Returns what brings what
/// came before to it.
template <class Lanes, int groups, int width_p>
__device__ float store_probabilities(const Lanes& lanes, const typename Lanes::Group (&x)[groups],
                                     __half (&p)[side][width_p], float before, float highest,
                                     float& sum) {
    constexpr int own = Lanes::width;
    const float rescale = expf(before - highest);
    sum *= rescale;
#pragma unroll
    for (int i = 0; i < groups; ++i) {
        const auto e = exponentials(x[i], highest);
        sum = sum_of(e, sum);
        lanes.store_p(&p[lanes.row][2 * own * i + own * lanes.part], e);
    }
    return rescale;
}

/// Sixteen rows of O, as halves, through shared memory; `query` is the lane's own row.
template <int columns, int width_s, class Args>
__device__ void store_rows(const Quads& lanes, Accumulator (&outputs)[columns],
                           float (&s)[side][width_s], const Args& a, const Head& at, int query) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        __syncwarp();  // the columns before have been read by all
        mma::store_matrix_sync(&s[0][0], outputs[c], width_s, mma::mem_row_major);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < side / 8; ++i) {
            if (query >= a.seqlen_q) {
                break;
            }
            const float4 x = four(&s[lanes.row][8 * i + 4 * lanes.part]);
            __half* to = at.token<__half>(a.out, query) + c * side + 8 * i + 4 * lanes.part;
            to[0] = __float2half_rn(x.x);
            to[1] = __float2half_rn(x.y);
            to[2] = __float2half_rn(x.z);
            to[3] = __float2half_rn(x.w);
        }
    }
}

}  // namespace raceline::gpu

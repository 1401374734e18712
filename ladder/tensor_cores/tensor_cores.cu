// SPDX-License-Identifier: Apache-2.0
// `light_barriers` with both products on tensor cores: a warp has sixteen query rows, because the
// smallest matrix that it can multiply has sixteen. A fragment's elements are spread over the warp
// in an order that is not ours to know, so whatever is done row by row happens in shared memory:
// scores are stored there for the softmax, probabilities are read from there, and so are the
// factors that rescale the output, which itself stays in fragments. Two lanes now share a row of
// the softmax.
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <string>
#include <utility>

#include "ladder/tensor_cores/load.cuh"
#include "ladder/tensor_cores/tile.hpp"
#include "raceline/error.hpp"

namespace raceline::kernels::tensor_cores {

extern __shared__ float4 dynamic_shared[];

namespace {

namespace mma = nvcuda::wmma;
using Accumulator = mma::fragment<mma::accumulator, side, side, side, float>;
using Left = mma::fragment<mma::matrix_a, side, side, side, __half, mma::row_major>;
using Right = mma::fragment<mma::matrix_b, side, side, side, __half, mma::row_major>;
// K has keys as rows, and its transpose is wanted.
using RightTransposed = mma::fragment<mma::matrix_b, side, side, side, __half, mma::col_major>;

// Sixteen rows of S = Q K^T, into shared memory.
template <int headdim, int width_s, int width>
__device__ void multiply_scores(float (&s)[side][width_s], const __half (*q)[width],
                                const __half (*k)[width]) {
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

// O += P V.
template <int columns, int width_p, int width>
__device__ void multiply_values(Accumulator (&outputs)[columns], const __half (&p)[side][width_p],
                                const __half (*v)[width]) {
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

__device__ float4& quad(float* at) {
    return *reinterpret_cast<float4*>(at);
}

__device__ float4 masked(float4 x, float scale, int left) {
    return {left > 0 ? x.x * scale : -INFINITY, left > 1 ? x.y * scale : -INFINITY,
            left > 2 ? x.z * scale : -INFINITY, left > 3 ? x.w * scale : -INFINITY};
}
__device__ float4 exponentials(float4 x, float highest) {
    return {expf(x.x - highest), expf(x.y - highest), expf(x.z - highest), expf(x.w - highest)};
}
// Four neighbours at once.
__device__ void store(__half* at, float4 x) {
    struct alignas(8) Quad {
        __half2 low, high;
    };
    *reinterpret_cast<Quad*>(at) = {__floats2half2_rn(x.x, x.y), __floats2half2_rn(x.z, x.w)};
}

// Every row of O times its own factor. A matrix whose rows are the factors is loaded like O itself:
// wherever a row's elements lie, its factor lies beside them.
template <int columns, int width>
__device__ void scale_rows(Accumulator (&outputs)[columns], float (&factors)[side][width], int row,
                           int part, float factor) {
    quad(&factors[row][4 * part]) = {factor, factor, factor, factor};
    quad(&factors[row][4 * part + 8]) = {factor, factor, factor, factor};
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

// Of a row, two lanes have every other four columns each.
template <int index, int headdim>
__global__ void __launch_bounds__(tiles[index].threads())
    forward(const __grid_constant__ AttentionArgs a) {
    constexpr int rows = tiles[index].rows;
    constexpr int threads = tiles[index].threads();
    constexpr int columns = headdim / side;
    auto& shared = *reinterpret_cast<Shared<__half, rows, headdim>*>(dynamic_shared);
    const RowTile at(a, rows);
    const int warp = static_cast<int>(threadIdx.x / 32);
    const int row = static_cast<int>(threadIdx.x % 32 / 2);
    const int part = static_cast<int>(threadIdx.x % 2);
    const int query = at.first + warp * side + row;
    const int keys = query < a.seqlen_q ? at.keys(a, query) : 0;
    const int most_keys = at.most_keys(a, rows);
    auto& s = shared.s[warp];
    auto& p = shared.p[warp];
    stage<threads, headdim>(shared.q, at.token<__half>(a.q, at.first), a.q.seq_stride,
                            a.seqlen_q - at.first);

    Accumulator outputs[columns];  // of sixteen rows, not yet divided by the rows' sums
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        mma::fill_fragment(outputs[c], 0.F);
    }
    // Of the row so far, the same in both lanes; finite, so that differences of it are numbers.
    float highest = -FLT_MAX;
    float sum = 0;  // of this lane's exponentials
    for (int first_key = 0; first_key < most_keys; first_key += tile_keys) {
        const int buffer = first_key / tile_keys % 2;
        stage<threads, headdim>(shared.k[buffer], at.token<__half>(a.k, first_key), a.k.seq_stride,
                                a.seqlen_k - first_key);
        stage<threads, headdim>(shared.v[buffer], at.token<__half>(a.v, first_key), a.v.seq_stride,
                                a.seqlen_k - first_key);
        __syncthreads();  // the only one
        multiply_scores<headdim>(s, &shared.q[warp * side], shared.k[buffer]);
        __syncwarp();

        float4 x[tile_keys / 8];
        const float before = highest;
#pragma unroll
        for (int i = 0; i < tile_keys / 8; ++i) {
            const int left = keys - first_key - 8 * i - 4 * part;  // keys of this quad and after
            x[i] = masked(quad(&s[row][8 * i + 4 * part]), a.scale, left);
            highest = fmaxf(highest, fmaxf(fmaxf(x[i].x, x[i].y), fmaxf(x[i].z, x[i].w)));
        }
        highest = fmaxf(highest, __shfl_xor_sync(0xFFFFFFFFU, highest, 1));
        const float rescale = expf(before - highest);
        sum *= rescale;
#pragma unroll
        for (int i = 0; i < tile_keys / 8; ++i) {
            const float4 e = exponentials(x[i], highest);
            sum += e.x + e.y + e.z + e.w;
            store(&p[row][8 * i + 4 * part], e);
        }
        scale_rows(outputs, shared.factors[warp], row, part, rescale);  // P is stored by all, too
        multiply_values(outputs, p, shared.v[buffer]);
        __syncwarp();
    }

    sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
    scale_rows(outputs, shared.factors[warp], row, part, keys > 0 ? 1 / sum : 0);
#pragma unroll
    for (int c = 0; c < columns; ++c) {
        __syncwarp();  // the columns before have been read by all
        mma::store_matrix_sync(&s[0][0], outputs[c], tile_keys + 8, mma::mem_row_major);
        __syncwarp();
#pragma unroll
        for (int i = 0; i < side / 8; ++i) {
            if (query >= a.seqlen_q) {
                break;
            }
            const float4 x = quad(&s[row][8 * i + 4 * part]);
            __half* to = at.token<__half>(a.out, query) + c * side + 8 * i + 4 * part;
            to[0] = __float2half_rn(x.x);
            to[1] = __float2half_rn(x.y);
            to[2] = __float2half_rn(x.z);
            to[3] = __float2half_rn(x.w);
        }
    }
    if (part == 0 && query < a.seqlen_q && a.lse != nullptr) {
        a.lse[at.batch * a.lse_batch_stride + query * a.lse_seq_stride +
              at.head * a.lse_head_stride] = keys > 0 ? highest + logf(sum) : -INFINITY;
    }
}

unsigned blocks(std::int64_t items, std::int64_t each) {
    return static_cast<unsigned>((items + each - 1) / each);
}

void check(const char* what, cudaError_t status) {
    if (status != cudaSuccess) {
        throw Error(Status::internal, std::string("tensor_cores: ") + what +
                                          " failed: " + cudaGetErrorName(status) + " (" +
                                          cudaGetErrorString(status) + ")");
    }
}

// Reading sixteen bytes at once asks for it.
void check_aligned(const TensorArg& t, int element, const char* name) {
    const std::int64_t all = t.batch_stride | t.seq_stride | t.head_stride;
    if (reinterpret_cast<std::uintptr_t>(t.data) % 16 != 0 || all * element % 16 != 0) {
        throw Error(Status::invalid_argument,
                    std::string("tensor_cores: ") + name +
                        " must start at, and step by, multiples of sixteen bytes");
    }
}

template <int index, int headdim>
void launch_one(const AttentionArgs& a, cudaStream_t stream) {
    constexpr int rows = tiles[index].rows;
    constexpr int bytes = sizeof(Shared<__half, rows, headdim>);
    static_assert(bytes == shared_bytes(rows, headdim));
    const unsigned row_tiles =
        blocks(a.seqlen_q, rows) * static_cast<unsigned>(a.heads_q * a.batch);
    if (row_tiles == 0) {
        return;
    }
    check("asking for more than 48 KiB of shared memory",
          cudaFuncSetAttribute(reinterpret_cast<const void*>(forward<index, headdim>),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    forward<index, headdim><<<row_tiles, tiles[index].threads(), bytes, stream>>>(a);
    check("the launch", cudaGetLastError());
}

}  // namespace

void launch(const AttentionArgs& args, int tile, const Device&, void*, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    check_aligned(args.q, 2, "q");
    check_aligned(args.k, 2, "k");
    check_aligned(args.v, 2, "v");
    [&]<int... index>(std::integer_sequence<int, index...>) {
        ((tile != index        ? void()
          : args.headdim == 64 ? launch_one<index, 64>(args, s)
                               : launch_one<index, 128>(args, s)),
         ...);
    }(std::make_integer_sequence<int, int{tiles.size()}>{});
}

}  // namespace raceline::kernels::tensor_cores

// SPDX-License-Identifier: Apache-2.0
// The end of a CTA: its warps' outputs meet in shared memory and leave as the answer, or as the
// partial answer of one split.
#pragma once

#include "gpu/tile/sink.cuh"
#include "kernels/simt/instances.hpp"
#include "kernels/simt/mainloop.cuh"

namespace raceline::kernels::simt {

/// An output row in the making: sum of exponentials relative to 2^maximum.
struct RowSum {
    float maximum, sum;
};

/// LSE and the factor that turns the row's accumulator into its output.
struct RowEnd {
    float factor, lse;
};
__device__ __forceinline__ RowEnd end_row(const AttentionArgs& a, RowSum row, int head_q,
                                          float v_scale) {
    if (row.maximum == -INFINITY) {
        return {0, a.sinks != nullptr ? a.sinks[head_q] : -INFINITY};
    }
    float shift = 0;
    if (a.sinks != nullptr) {
        shift = gpu::add_sink(a.sinks[head_q] * log2_e, row.maximum, row.sum);
    }
    return {exp2f(shift) * v_scale / row.sum, (row.maximum + log2f(row.sum)) * ln_2};
}

/// Where a finished row goes.
struct RowAddress {
    std::int64_t out, lse;  ///< elements
    std::int64_t partial;   ///< row of the partial arrays
    int head_q;
};
__device__ __forceinline__ RowAddress row_address(const Params& p, int sequence, int start_q,
                                                  int query, int head_q) {
    const AttentionArgs& a = p.args;
    const bool packed = a.cu_seqlens_q != nullptr;
    RowAddress to{};
    to.out = (packed ? start_q * a.out.seq_stride : sequence * a.out.batch_stride) +
             query * a.out.seq_stride + head_q * a.out.head_stride;
    to.lse = (packed ? start_q * a.lse_seq_stride : sequence * a.lse_batch_stride) +
             query * a.lse_seq_stride + head_q * a.lse_head_stride;
    to.partial = (std::int64_t{sequence} * a.seqlen_q + query) * a.heads_q + head_q;
    to.head_q = head_q;
    return to;
}

/// Four outputs from `column` on, as many as exist.
__device__ __forceinline__ void store_quad(const Params& p, const RowAddress& to, int column,
                                           float4 x) {
    const AttentionArgs& a = p.args;
    if (!p.chunked_out) {
        const float four[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (column + e < a.headdim_v) {
                store_float(a.out.data, to.out + column + e, four[e], a.dtype);
            }
        }
    } else if (a.dtype == DType::fp32) {
        *reinterpret_cast<float4*>(static_cast<float*>(a.out.data) + to.out + column) = x;
    } else if (a.dtype == DType::fp16) {
        auto* pairs =
            reinterpret_cast<__half2*>(static_cast<__half*>(a.out.data) + to.out + column);
        pairs[0] = __floats2half2_rn(x.x, x.y);
        pairs[1] = __floats2half2_rn(x.z, x.w);
    } else {
        auto* pairs = reinterpret_cast<__nv_bfloat162*>(static_cast<__nv_bfloat16*>(a.out.data) +
                                                        to.out + column);
        pairs[0] = __floats2bfloat162_rn(x.x, x.y);
        pairs[1] = __floats2bfloat162_rn(x.z, x.w);
    }
}

/// The maximum skips NaN (fmaxf does), the sum does not: a row whose sum is NaN says so in both, so
/// that it is never taken for one without keys.
__device__ __forceinline__ RowSum marked(RowSum row) {
    return {row.sum == row.sum ? row.maximum : row.sum, row.sum};
}

/// Leaves every warp's outputs and sums in shared memory, over Q, K and V, which are done with.
template <Tile tile, int v_width, class Params>
__device__ __forceinline__ void gather(float* memory, const Lane<tile>& lane,
                                       State<tile, v_width, Params>& state) {
    auto* sums = reinterpret_cast<RowSum*>(memory + tile.key_warps * tile.rows * v_width);
#pragma unroll
    for (int i = 0; i < Lane<tile>::rows; ++i) {
        for (int lanes = 1; lanes < 8; lanes *= 2) {
            state.sum[i] += __shfl_xor_sync(0xFFFFFFFFU, state.sum[i], lanes);
        }
        const int row = lane.key_warp * tile.rows + lane.row(i);
#pragma unroll
        for (int c = 0; c < v_width / 32; ++c) {
            *reinterpret_cast<float4*>(memory + row * v_width + c * 32 + lane.member * 4) =
                state.out[i][c];
        }
        if (lane.member == 0) {
            sums[row] = marked({state.maximum[i], state.sum[i]});
        }
    }
}

/// One row's outputs of all warps, brought to their common maximum.
template <Tile tile, int v_width>
__device__ __forceinline__ float4 combine(const float* memory, int row, int column, RowSum& total) {
    const auto* sums =
        reinterpret_cast<const RowSum*>(memory + tile.key_warps * tile.rows * v_width);
    total = {-INFINITY, 0};
#pragma unroll
    for (int w = 0; w < tile.key_warps; ++w) {
        total.maximum = fmaxf(total.maximum, sums[w * tile.rows + row].maximum);
    }
    float4 out = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int w = 0; w < tile.key_warps; ++w) {
        const RowSum one = sums[w * tile.rows + row];
        const float factor = one.maximum == -INFINITY ? 0.0F : exp2f(one.maximum - total.maximum);
        total.sum += one.sum * factor;
        out = add_scaled(
            out, factor,
            *reinterpret_cast<const float4*>(memory + (w * tile.rows + row) * v_width + column));
    }
    total = marked(total);
    return out;
}

__device__ __forceinline__ float4 scaled(float4 x, float factor) {
    return make_float4(x.x * factor, x.y * factor, x.z * factor, x.w * factor);
}

template <Tile tile, int v_width>
__device__ __forceinline__ void write_rows(const Params& p, const Place& at, const float* memory,
                                           float v_scale) {
    constexpr int quads = v_width / 4;
    const AttentionArgs& a = p.args;
    for (int e = static_cast<int>(threadIdx.x); e < at.rows * quads; e += tile.threads) {
        const int row = e / quads;
        const int column = (e - row * quads) * 4;
        if (column >= a.headdim_v) {
            continue;
        }
        RowSum total;
        const float4 out = combine<tile, v_width>(memory, row, column, total);
        const int packed_row = at.first_row + row;
        const int query = packed_row / p.group;
        const RowAddress to =
            row_address(p, at.block.sequence, at.start_q, query,
                        at.block.head_kv * p.group + packed_row - query * p.group);
        if (p.partial_out != nullptr) {
            const std::int64_t slot = at.block.split * p.total_rows + to.partial;
            *reinterpret_cast<float4*>(p.partial_out + slot * p.partial_width + column) = out;
            if (column == 0) {
                reinterpret_cast<RowSum*>(p.partial_sums)[slot] = total;
            }
            continue;
        }
        const RowEnd end = end_row(a, total, to.head_q, v_scale);
        store_quad(p, to, column, scaled(out, end.factor));
        if (column == 0 && a.lse != nullptr) {
            a.lse[to.lse] = end.lse;
        }
    }
}

// Without a second bound ptxas keeps three CTAs a unit: right for sm_90, but it would spill for the
// other architectures, which get registers for one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define RACELINE_SIMT_BOUNDS(threads) __launch_bounds__(threads, 1)
#else
#define RACELINE_SIMT_BOUNDS(threads) __launch_bounds__(threads)
#endif

/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
template <int index, int v_width, class Params = simt::Params>
__global__ void RACELINE_SIMT_BOUNDS(tiles[index].threads)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    extern __shared__ float4 dynamic_shared[];
    auto* memory = reinterpret_cast<float*>(dynamic_shared);
    const Place at = locate<tile>(p);
    if (at.rows <= 0) {
        return;  // a shorter sequence of a ragged batch; the whole CTA leaves together
    }
    const AttentionArgs& a = p.args;
    const int scale_index = at.block.sequence * a.heads_kv + at.block.head_kv;
    const float k_scale = a.k_scale != nullptr ? a.k_scale[scale_index] : 1.0F;
    const float v_scale = a.v_scale != nullptr ? a.v_scale[scale_index] : 1.0F;
    const Shared s = carve<tile, v_width>(memory, p);
    const Lane<tile> lane;
    State<tile, v_width, Params> state(p, at, lane);

    stage<tile.threads, tile.rows, 4>(
        {s.q, p.pitch, p.depth, a.headdim, at.rows, a.dtype, p.chunked_q}, query_rows(p, at));
    for (int first = at.keys.first; first < at.keys.last; first += tile.keys) {
        __syncthreads();  // the tile before is consumed by all warps
        load_tile<tile, v_width>(p, at, s, first);
        __syncthreads();  // Q and this tile are visible
        float score[Lane<tile>::rows][tile.keys_per_lane()];
        scores<tile>(p, s, lane, score);
        softmax<tile, v_width>(p, k_scale, s, lane, first, score, state);
        __syncwarp();  // a warp reads only the probabilities that it wrote
        accumulate<tile, v_width>(s, lane, state);
    }
    __syncthreads();  // the gather overwrites what other warps may still be reading
    gather<tile, v_width>(memory, lane, state);
    __syncthreads();
    write_rows<tile, v_width>(p, at, memory, v_scale);
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward<tile, v_widths[variant]>;
}

}  // namespace raceline::kernels::simt

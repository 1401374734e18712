// SPDX-License-Identifier: Apache-2.0
// The kernel: one CTA a work tile (schedule.hpp). Its epilogue divides by the row's sum, finds the
// LSE, and stores straight from the accumulators.
#pragma once

#include "gpu/tile/base_two.cuh"
#include "gpu/tile/sink.cuh"
#include "kernels/prefill_mma/compute.cuh"
#include "kernels/prefill_mma/params.hpp"

namespace raceline::kernels::prefill_mma {

/// Up to eight outputs at `to`, as many as `columns` has.
template <bool by_hand>
__device__ __forceinline__ void store_chunk(std::uint16_t* to, const std::uint32_t (&x)[4],
                                            int columns) {
    if constexpr (!by_hand) {
        if (columns > 0) {
            *reinterpret_cast<uint4*>(to) = make_uint4(x[0], x[1], x[2], x[3]);
        }
        return;
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {
        if (e < columns) {
            to[e] = static_cast<std::uint16_t>(x[e / 2] >> (16 * (e % 2)));
        }
    }
}

/// The factor that turns the row's accumulators into its output, and its LSE.
struct RowEnd {
    float factor, lse;
};
__device__ __forceinline__ RowEnd end_row(const float* sinks, int head, float base, float sum) {
    if (base == no_base && sum == 0) {  // maxima skip NaN, the sum does not
        return {0, sinks != nullptr ? sinks[head] : -INFINITY};
    }
    float shrink = 1;
    if (sinks != nullptr) {
        shrink = exp2f(gpu::add_sink(sinks[head] * log2_e, base, sum));
    }
    return {shrink / sum, (base + log2f(sum)) * ln_2};
}

/// The sums of this lane's rows over all keys, from those over its own columns.
template <Tile tile>
__device__ __forceinline__ void complete_sums(const Shared<tile>& s, RowState<tile>& state) {
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (float& sum : state.sum[g]) {
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
            sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
        }
    }
    if constexpr (tile.sharers == 2) {
        float others[tile.row_groups()][2];
        exchange_rows<tile>(s, state.sum, others);
#pragma unroll
        for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                state.sum[g][i] += others[g][i];
            }
        }
    }
}

template <Tile tile, bool bf16, bool by_hand>
__device__ __forceinline__ void write_rows(const Params& p, const Work& w, const Shared<tile>& s,
                                           const Outputs<tile>& out, RowState<tile>& state) {
    const AttentionArgs& a = p.args;
    const WarpRows rows = warp_rows<tile>(w);
    const int lane = lane_of_warp();
    const auto part = static_cast<int>(part_of_warp<tile>());
    const std::int64_t index = w.sequence.q_index;
    complete_sums<tile>(s, state);
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const RowEnd end = end_row(a.sinks, w.head, state.base[g][i], state.sum[g][i]);
            const int row = rows.first + 16 * g + fragment_row(lane, i);
            const bool exists = row < w.sequence.band.length_q;
            const std::int64_t token = w.sequence.q_token + row;
            auto* to = static_cast<std::uint16_t*>(a.out.data) + index * a.out.batch_stride +
                       token * a.out.seq_stride + w.head * a.out.head_stride;
            if (exists && a.lse != nullptr && lane % 4 == 0 && part == 0) {
                a.lse[index * a.lse_batch_stride + token * a.lse_seq_stride +
                      w.head * a.lse_head_stride] = end.lse;
            }
#pragma unroll
            for (int four = 0; four < tile.warp_columns() / 32; ++four) {
                std::uint32_t x[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const auto& from = out[g][4 * four + j];
                    x[j] = gpu::packed<bf16>(from[fragment_register(i, 0)] * end.factor,
                                             from[fragment_register(i, 1)] * end.factor);
                }
                gpu::transpose_quad(x);  // lane t of the quad now has the t-th eight of 32 columns
                const int column = part * tile.warp_columns() + 32 * four + 8 * (lane % 4);
                if (exists) {
                    store_chunk<by_hand>(to + column, x, a.headdim_v - column);
                }
            }
        }
    }
}

/// by_hand: a row of Q, K, V or the output is no row of aligned 16-byte chunks, which cp.async
/// and wide stores need.
/// index: of the tile in `tiles`; a struct of a namespace cannot be a parameter of a __global__.
template <int index, bool bf16, bool by_hand>
__global__ void __launch_bounds__(tiles[index].threads(), tiles[index].residents)
    forward(const __grid_constant__ Params p) {
    constexpr Tile tile = tiles[index];
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    const Shared<tile> s{(start + 127U) & ~127U};
    __shared__ Work w;
    static_assert(sizeof(w) == work_bytes);
    if (threadIdx.x == 0) {
        w = work_of<tile>(p, p.order.work_tile(static_cast<std::int32_t>(blockIdx.x)));
    }
    __syncthreads();
    if (w.empty) {
        return;  // the whole CTA leaves together
    }
    Outputs<tile> out{};
    RowState<tile> state;
    if (w.blocks.count() > 0) {
        attend<tile, bf16, by_hand>(p, w, s, out, state);
    }
    write_rows<tile, bf16, by_hand>(p, w, s, out, state);
}

template <int tile, int variant>
auto Instances::code() -> void (*)(Params) {
    return forward < tile, variant % 2 == 1, variant / 2 == 1 > ;
}

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
// Parts combined in the launch that makes them: CTAs count each other as they leave their part of a
// unit, and the one that comes last brings all of them together. Nobody waits for anybody.
#pragma once

#include "gpu/ptx/atom_global_u64.cuh"
#include "kernels/decode_sm90/parts.cuh"

namespace raceline::kernels::decode_sm90 {

/// A unit's word in the workspace, that of its first part: a tag, and in the lowest 16 bits how
/// many have come. Any other tag is what memory happened to hold, and counts as nothing. The last
/// one leaves 0, so that the next call, or the next replay of a graph, begins anew.
inline constexpr std::uint64_t arrival_tag = 0x9D7C'51A6'E30B'0000;
inline constexpr std::uint64_t arrival_count = 0xFFFF;

/// Makes sure that the word can be counted in, long before this thread does so. Who read what
/// memory held before another one set the word changes nothing.
__device__ __forceinline__ void prepare_arrivals(const Params& p, Parts parts) {
    std::uint64_t* word = p.arrivals + parts.first;
    const std::uint64_t found = ptx::ld_relaxed_gpu_global_u64(word);
    if ((found & ~arrival_count) != arrival_tag) {
        ptx::atom_relaxed_gpu_global_cas_b64(word, found, arrival_tag);
    }
}

/// To be asked by all threads of a CTA when they have written their part of a unit: whether all
/// other parts have been written, and can be read now. `told`: a word of shared memory.
__device__ __forceinline__ bool last_to_arrive(const Params& p, Parts parts, std::int32_t* told) {
    __syncthreads();  // the whole CTA has written
    if (threadIdx.x == 0) {
        std::uint64_t* word = p.arrivals + parts.first;
        const std::uint64_t before = ptx::atom_acq_rel_gpu_global_add_u64(word, 1);
        const bool last =
            (before & arrival_count) ==
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(parts.last - parts.first));
        if (last) {
            *word = 0;
        }
        *told = last ? 1 : 0;
    }
    __syncthreads();
    return *told != 0;
}

/// All parts of a unit, combined and written: a warp a row, four columns a lane. Of rows that are
/// shorter than a warp's columns, parts are dealt out to its halves.
template <Tile tile, bool bf16>
__device__ __forceinline__ void combine_parts(const Params& p, const Walk& walk, Parts parts) {
    constexpr int lanes_of_row = tile.headdim < 128 ? tile.headdim / 4 : 32;
    constexpr int sharers = 32 / lanes_of_row;
    constexpr int columns = tile.headdim / 4 / lanes_of_row;
    // Loads under way: for all parts of one of eight units on 132 SMs, each cut by itself.
    constexpr int at_once = 16 / sharers / columns;
    const AttentionArgs& a = p.args;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    const std::int32_t sharer = lane / lanes_of_row;
    const std::int32_t column = lane % lanes_of_row * 4;
    const std::int32_t rows = rows_of(p, walk);
    // Heads of a unit have a row each, then the next one.
    constexpr int rows_of_part = 2 * tile.heads() * tile_rows;
#pragma unroll 1
    for (auto at = static_cast<std::int32_t>(threadIdx.x / 32); at < rows * tile.heads();
         at += tile.warps) {
        const std::int32_t own = at % tile.heads();
        const std::int32_t here = at / tile.heads();
        const std::int32_t head = walk.head + own;
        const Row row = row_of(p, walk, head, here);
        const RowAddress to = address_of(a, walk.sequence, row);
        RowSum total{-INFINITY, 0};
        float4 out[columns];
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            out[c] = make_float4(0, 0, 0, 0);
        }
#pragma unroll 1
        for (std::int32_t from = parts.first; from <= parts.last; from += 32) {  // a lane a part
            const std::int32_t count = smaller(32, parts.last + 1 - from);
            const RowSum mine = lane < count
                                    ? sum_of(p, parts.slot(from + lane, here, tile.heads(), own))
                                    : RowSum{-INFINITY, 0};
            float factor = 0;
#pragma unroll 1
            for (std::int32_t i = 0; i < count; i += at_once * sharers) {
                const float* its_own =
                    p.partial_out + column +
                    ((from + i + sharer) * rows_of_part + own * tile_rows + here) * tile.headdim;
                float4 x[at_once][columns];
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    const std::int32_t part = i + u * sharers + sharer;
                    // As Parts::slot has it: of the first part, which stands first, behind its
                    // first rows.
                    const int behind = u == 0 && from + part == parts.first ? rows_of_part / 2 : 0;
                    const float* from_part =
                        its_own + (u * sharers * rows_of_part + behind) * tile.headdim;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        x[u][c] = part < count
                                      ? *reinterpret_cast<const float4*>(from_part + 128 * c)
                                      : make_float4(0, 0, 0, 0);
                    }
                }
                if (i == 0) {  // while they come
                    float highest = fmaxf(total.base, mine.base);
#pragma unroll
                    for (int distance = 16; distance > 0; distance /= 2) {
                        highest = fmaxf(highest, __shfl_xor_sync(0xFFFFFFFFU, highest, distance));
                    }
                    factor = factor_of(mine, highest);
                    // Of a row whose keys gave no number the base is -inf, and its sum must stay.
                    float sum = mine.base == -INFINITY ? mine.sum : mine.sum * factor;
#pragma unroll
                    for (int distance = 16; distance > 0; distance /= 2) {
                        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
                    }
                    const float keep = factor_of(total, highest);
                    total.sum = (total.base == -INFINITY ? total.sum : total.sum * keep) + sum;
                    total.base = highest;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        out[c] = scaled(out[c], keep);
                    }
                }
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    const std::int32_t part = i + u * sharers + sharer;
                    const float any = __shfl_sync(0xFFFFFFFFU, factor, part % 32);
                    const float its = part < count ? any : 0;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        out[c] = add_scaled(out[c], its, x[u][c]);
                    }
                }
            }
        }
        if constexpr (sharers == 2) {
            out[0].x += __shfl_xor_sync(0xFFFFFFFFU, out[0].x, lanes_of_row);
            out[0].y += __shfl_xor_sync(0xFFFFFFFFU, out[0].y, lanes_of_row);
            out[0].z += __shfl_xor_sync(0xFFFFFFFFU, out[0].z, lanes_of_row);
            out[0].w += __shfl_xor_sync(0xFFFFFFFFU, out[0].w, lanes_of_row);
        }
        const RowEnd end = end_of(a, total, row.head, v_scale_of(a, walk.index, head));
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            if (sharer == 0) {
                store_four<bf16>(p, to.out, column + 128 * c, scaled(out[c], end.factor));
            }
        }
        if (lane == 0 && a.lse != nullptr) {
            a.lse[to.lse] = end.lse;
        }
    }
}

}  // namespace raceline::kernels::decode_sm90

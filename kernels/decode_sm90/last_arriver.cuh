// SPDX-License-Identifier: Apache-2.0
// Parts combined in the launch that makes them: CTAs count each other as they leave their part of a
// unit, and the one that comes last brings all of them together. Nobody waits for anybody.
#pragma once

#include <type_traits>

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

/// Some rows of a unit, of all its parts: a warp has each `warps`th one from `at` on, heads of the
/// unit in turn. Four columns a lane; of rows that are shorter than a warp's columns, parts are
/// dealt out to its halves.
template <Tile tile, bool bf16, int number>
__device__ __forceinline__ void combine_rows(const Params& p, const Walk& walk, Parts parts,
                                             std::int32_t at, std::int32_t rows) {
    constexpr int lanes_of_row = tile.headdim < 128 ? tile.headdim / 4 : 32;
    constexpr int sharers = 32 / lanes_of_row;
    constexpr int columns = tile.headdim / 4 / lanes_of_row;
    // Loads under way: for all parts of one of eight units on 132 SMs, each cut by itself.
    constexpr int at_once = parts_at_once(tile) / sharers / number;
    const AttentionArgs& a = p.args;
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    const std::int32_t sharer = lane / lanes_of_row;
    const std::int32_t column = lane % lanes_of_row * 4;
    RowSum total[number];
    float4 out[number][columns];
#pragma unroll
    for (int r = 0; r < number; ++r) {
        total[r] = {-INFINITY, 0};
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            out[r][c] = make_float4(0, 0, 0, 0);
        }
    }
    const auto of_unit = [&](int r) { return at + r * tile.warps; };
    const auto slot = [&](std::int32_t part, int r) {
        return parts.slot(part, of_unit(r) / tile.heads(), tile.heads(), of_unit(r) % tile.heads());
    };
#pragma unroll 1
    for (std::int32_t from = parts.first; from <= parts.last; from += 32) {  // a lane a part
        const std::int32_t count = smaller(32, parts.last + 1 - from);
        float factor[number];
        RowSum mine[number];
#pragma unroll
        for (int r = 0; r < number; ++r) {
            mine[r] = lane < count && of_unit(r) < rows ? sum_of(p, slot(from + lane, r))
                                                        : RowSum{-INFINITY, 0};
        }
#pragma unroll 1
        for (std::int32_t i = 0; i < count; i += at_once * sharers) {
            float4 x[number][at_once][columns];
#pragma unroll
            for (int r = 0; r < number; ++r) {
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    const std::int32_t part = i + u * sharers + sharer;
                    const bool exists = part < count && of_unit(r) < rows;
                    const float* its_own =
                        p.partial_out + column + (exists ? slot(from + part, r) : 0) * tile.headdim;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        x[r][u][c] = exists ? *reinterpret_cast<const float4*>(its_own + 128 * c)
                                            : make_float4(0, 0, 0, 0);
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < number; ++r) {
                if (i == 0) {  // while they come
                    float highest = fmaxf(total[r].base, mine[r].base);
#pragma unroll
                    for (int distance = 16; distance > 0; distance /= 2) {
                        highest = fmaxf(highest, __shfl_xor_sync(0xFFFFFFFFU, highest, distance));
                    }
                    factor[r] = factor_of(mine[r], highest);
                    // Of a row whose keys gave no number the base is -inf, and its sum must stay.
                    float sum = mine[r].base == -INFINITY ? mine[r].sum : mine[r].sum * factor[r];
#pragma unroll
                    for (int distance = 16; distance > 0; distance /= 2) {
                        sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
                    }
                    const float keep = factor_of(total[r], highest);
                    total[r].sum =
                        (total[r].base == -INFINITY ? total[r].sum : total[r].sum * keep) + sum;
                    total[r].base = highest;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        out[r][c] = scaled(out[r][c], keep);
                    }
                }
#pragma unroll
                for (int u = 0; u < at_once; ++u) {
                    const std::int32_t part = i + u * sharers + sharer;
                    const float any = __shfl_sync(0xFFFFFFFFU, factor[r], part % 32);
                    const float its = part < count ? any : 0;
#pragma unroll
                    for (int c = 0; c < columns; ++c) {
                        out[r][c] = add_scaled(out[r][c], its, x[r][u][c]);
                    }
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < number; ++r) {
        if constexpr (sharers == 2) {
            out[r][0].x += __shfl_xor_sync(0xFFFFFFFFU, out[r][0].x, lanes_of_row);
            out[r][0].y += __shfl_xor_sync(0xFFFFFFFFU, out[r][0].y, lanes_of_row);
            out[r][0].z += __shfl_xor_sync(0xFFFFFFFFU, out[r][0].z, lanes_of_row);
            out[r][0].w += __shfl_xor_sync(0xFFFFFFFFU, out[r][0].w, lanes_of_row);
        }
        if (of_unit(r) >= rows) {
            break;
        }
        const std::int32_t head = walk.head + of_unit(r) % tile.heads();
        const Row row = row_of(p, walk, head, of_unit(r) / tile.heads());
        const RowAddress to = address_of(a, walk.sequence, row);
        const RowEnd end = end_of(a, total[r], row.head, v_scale_of(a, walk.index, head));
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            if (sharer == 0) {
                store_four<bf16>(p, to.out, column + 128 * c, scaled(out[r][c], end.factor));
            }
        }
        if (lane == 0 && a.lse != nullptr) {
            a.lse[to.lse] = end.lse;
        }
    }
}

/// All parts of a unit, combined and written.
template <Tile tile, bool bf16>
__device__ __forceinline__ void combine_parts(const Params& p, const Walk& walk, Parts parts) {
    const std::int32_t rows = rows_of(p, walk) * tile.heads();
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto each = [&](auto number) {
#pragma unroll 1
        for (std::int32_t at = warp; at < rows; at += decltype(number)::value * tile.warps) {
            combine_rows<tile, bf16, decltype(number)::value>(p, walk, parts, at, rows);
        }
    };
    if (parts.last - parts.first < few_parts(tile) && rows > tile.warps) {
        each(std::integral_constant<int, rows_of_few_parts(tile)>{});
    } else {
        each(std::integral_constant<int, 1>{});
    }
}

}  // namespace raceline::kernels::decode_sm90

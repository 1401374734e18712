// SPDX-License-Identifier: Apache-2.0
// Second launch: units whose keys several CTAs have read. One CTA a unit brings its parts to their
// common maximum, row by row: some warps a row take its parts in turn, lanes take columns.
#include "gpu/ptx/griddepcontrol.cuh"
#include "kernels/decode_sm90/params.hpp"
#include "kernels/decode_sm90/parts.cuh"
#include "registry/enqueue_overlapping.cuh"

namespace raceline::kernels::decode_sm90 {
namespace {

constexpr int combine_warps = combine_threads / 32;

/// Sums of values of a row, four columns a lane, and what they stand relative to.
template <int columns>
struct Total {
    RowSum sum{-INFINITY, 0};
    float4 out[columns];

    __device__ __forceinline__ Total() {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            out[c] = make_float4(0, 0, 0, 0);
        }
    }
    /// Adds what stands relative to another base.
    __device__ __forceinline__ void add(RowSum one, const float4 (&x)[columns]) {
        const float base = fmaxf(sum.base, one.base);
        const float keep = factor_of(sum, base);
        const float factor = factor_of(one, base);
        // Of a row whose keys gave no number the base is -inf, and its sum must not be lost.
        sum.sum = (sum.base == -INFINITY ? sum.sum : sum.sum * keep) +
                  (one.base == -INFINITY ? one.sum : one.sum * factor);
        sum.base = base;
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            out[c] = add_scaled(scaled(out[c], keep), factor, x[c]);
        }
    }
};

/// Fours of neighbouring columns that a lane has.
constexpr int columns_of(int headdim) {
    return (headdim + 127) / 128;
}

/// Where the warps' totals meet, in shared memory.
template <int columns>
struct PartsMeeting {
    float4 out[combine_warps][columns][32];
    RowSum sum[combine_warps];
};

/// Rows that the warps of a CTA work on at a time: a power of two, so that as many share each.
__device__ __forceinline__ std::int32_t rows_at_once(std::int32_t rows) {
    std::int32_t at_once = 1;
#pragma unroll
    for (std::int32_t more = 2; more <= combine_warps; more *= 2) {
        at_once = more / 2 < rows ? more : at_once;
    }
    return at_once;
}

/// One CTA a part: it combines the unit that begins there and goes on, as the launch in front has
/// left it, so that nothing is planned twice. heads: of a unit.
template <int headdim, bool bf16>
__global__ void __launch_bounds__(combine_threads)
    combine(const __grid_constant__ Params p, const std::int32_t heads) {
    const AttentionArgs& a = p.args;
    extern __shared__ __align__(16) char dynamic_shared[];
    auto& meeting = *reinterpret_cast<PartsMeeting<columns_of(headdim)>*>(dynamic_shared);
    ptx::griddepcontrol_launch_dependents();  // the next call may get ready
    ptx::griddepcontrol_wait();  // by all CTAs: who waits for this launch waits for the one before
    const auto part = static_cast<std::int32_t>(blockIdx.x);
    const CutUnit unit = p.cut_units[part];
    if (unit.last < 0) {
        return;
    }
    const Parts parts{part, unit.last};
    Walk walk{};
    walk.sequence = sequence_of(p, unit.sequence);
    walk.index = unit.sequence;
    walk.head = unit.head;
    walk.row_tile = unit.row_tile;
    constexpr int columns = columns_of(headdim);
    const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const std::int32_t rows_of_head = rows_of(p, walk);
    const std::int32_t rows = rows_of_head * heads;
    const std::int32_t sharers = combine_warps / rows_at_once(rows);
#pragma unroll 1
    for (std::int32_t first = 0; first < rows; first += combine_warps / sharers) {
        const std::int32_t row_of_unit = first + warp / sharers;
        const bool exists = row_of_unit < rows;
        const std::int32_t own = row_of_unit / rows_of_head;  // head of the unit
        const std::int32_t row_of_head = row_of_unit - own * rows_of_head;
        Total<columns> total;
#pragma unroll 4
        for (std::int32_t from = parts.first + warp % sharers; exists && from <= parts.last;
             from += sharers) {
            const std::int32_t slot = parts.slot(from, row_of_head, heads, own);
            float4 x[columns];
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                const int column = 4 * lane + 128 * c;
                x[c] =
                    column < headdim
                        ? *reinterpret_cast<const float4*>(p.partial_out + slot * headdim + column)
                        : make_float4(0, 0, 0, 0);
            }
            total.add(sum_of(p, slot), x);
        }
        __syncthreads();  // what met here before has been read
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            meeting.out[warp][c][lane] = total.out[c];
        }
        if (lane == 0) {
            meeting.sum[warp] = total.sum;
        }
        __syncthreads();
        if (!exists || warp % sharers != 0) {
            continue;
        }
        for (int w = 1; w < sharers; ++w) {
            float4 x[columns];
#pragma unroll
            for (int c = 0; c < columns; ++c) {
                x[c] = meeting.out[warp + w][c][lane];
            }
            total.add(meeting.sum[warp + w], x);
        }
        const Row row = row_of(p, walk, walk.head + own, row_of_head);
        const RowEnd end =
            end_of(a, total.sum, row.head, v_scale_of(a, walk.index, walk.head + own));
        const RowAddress to = address_of(a, walk.sequence, row);
#pragma unroll
        for (int c = 0; c < columns; ++c) {
            const int column = 4 * lane + 128 * c;
            if (column < headdim) {
                store_four<bf16>(p, to.out, column, scaled(total.out[c], end.factor));
            }
        }
        if (lane == 0 && a.lse != nullptr) {
            a.lse[to.lse] = end.lse;
        }
    }
}

}  // namespace

void launch_combine(const Params& params, const Tile& tile, void* stream) {
    const AttentionArgs& a = params.args;
    const dim3 grid(static_cast<unsigned>(params.ctas - 1));
    with_value<64, 128, 256>(tile.headdim, [&](auto headdim) {
        constexpr std::size_t meeting = sizeof(PartsMeeting<columns_of(decltype(headdim)::value)>);
        const LaunchShape shape{grid, combine_threads, meeting, stream};
        const auto code = a.dtype == DType::bf16 ? combine<decltype(headdim)::value, true>
                                                 : combine<decltype(headdim)::value, false>;
        enqueue_overlapping("decode_sm90: combining", code, shape, params,
                            std::int32_t{tile.heads()});
    });
}

}  // namespace raceline::kernels::decode_sm90

// SPDX-License-Identifier: Apache-2.0
// The end of a unit's part: the warps' outputs meet in shared memory and leave as the answer, or as
// one part of it.
#pragma once

#include "gpu/ptx/approx_ftz_f32.cuh"
#include "gpu/tile/sink.cuh"
#include "kernels/decode_sm90/query.cuh"

namespace raceline::kernels::decode_sm90 {

/// Sum of exponentials of a row relative to 2^base.
struct RowSum {
    float base, sum;
};

/// What two sums relative to their own bases are multiplied by to stand relative to `base`.
__device__ __forceinline__ float factor_of(RowSum row, float base) {
    return row.base == -INFINITY ? 0.0F : ptx::ex2_approx_ftz_f32(row.base - base);
}

/// Output row `token` of a head: elements from the tensors' starts.
struct RowAddress {
    std::int64_t out, lse;
};
__device__ __forceinline__ RowAddress address_of(const AttentionArgs& a, const Sequence& s,
                                                 Row row) {
    return {s.q_index * a.out.batch_stride + (s.q_token + row.token) * a.out.seq_stride +
                row.head * a.out.head_stride,
            s.q_index * a.lse_batch_stride + (s.q_token + row.token) * a.lse_seq_stride +
                row.head * a.lse_head_stride};
}

/// LSE and the factor that turns a row's sum of values into its output.
struct RowEnd {
    float factor, lse;
};
__device__ __forceinline__ RowEnd end_of(const AttentionArgs& a, RowSum row, int head,
                                         float v_scale) {
    const bool none = row.base == -INFINITY && row.sum == row.sum;  // maxima skip NaN, sums do not
    if (none) {
        return {0, a.sinks != nullptr ? a.sinks[head] : -INFINITY};
    }
    float shift = 0;
    if (a.sinks != nullptr) {
        shift = gpu::add_sink(a.sinks[head] * log2_e, row.base, row.sum);
    }
    return {exp2f(shift) * v_scale * ptx::rcp_approx_ftz_f32(row.sum),
            a.lse != nullptr ? (row.base + log2f(row.sum)) * ln_2 : 0.0F};
}

/// Four neighbouring outputs, as many as there are.
template <bool bf16>
__device__ __forceinline__ void store_four(const Params& p, std::int64_t row, int column,
                                           float4 x) {
    auto* to = static_cast<std::uint16_t*>(p.args.out.data) + row + column;
    const std::uint32_t low = packed<bf16>(x.x, x.y);
    const std::uint32_t high = packed<bf16>(x.z, x.w);
    if (p.chunked_out) {
        if (column < p.args.headdim_v) {
            *reinterpret_cast<uint2*>(to) = make_uint2(low, high);
        }
        return;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        if (column + e < p.args.headdim_v) {
            to[e] = static_cast<std::uint16_t>((e < 2 ? low : high) >> (16 * (e % 2)));
        }
    }
}

__device__ __forceinline__ float4 add_scaled(float4 sum, float factor, float4 x) {
    return make_float4(fmaf(factor, x.x, sum.x), fmaf(factor, x.y, sum.y), fmaf(factor, x.z, sum.z),
                       fmaf(factor, x.w, sum.w));
}
__device__ __forceinline__ float4 scaled(float4 x, float factor) {
    return make_float4(x.x * factor, x.y * factor, x.z * factor, x.w * factor);
}
__device__ __forceinline__ float v_scale_of(const AttentionArgs& a, std::int32_t sequence,
                                            std::int32_t head_kv) {
    return a.v_scale != nullptr ? a.v_scale[sequence * a.heads_kv + head_kv] : 1.0F;
}

/// Where the warps meet: half of the rows of each warp, and all of their sums.
template <Tile tile>
struct Meeting {
    static constexpr int half = tile_rows / 2;
    float* memory;

    [[nodiscard]] __device__ __forceinline__ float* out(int warp, int row) const {
        return memory + (warp * half + row) * tile.meeting_pitch();
    }
    [[nodiscard]] __device__ __forceinline__ RowSum* sums(int warp) const {
        return reinterpret_cast<RowSum*>(memory + tile.warps * half * tile.meeting_pitch()) +
               warp * tile_rows;
    }
    /// The rows of this warp that are `half` in number from row `half · which` on.
    template <int which, int eights>
    __device__ __forceinline__ void give(const Rows<tile, eights>& r) const {
        const int lane = static_cast<int>(threadIdx.x % 32);
        const int warp = static_cast<int>(threadIdx.x / 32);
        float factor = 1;
        if constexpr (tile.token_scales != 0) {
            factor = r.largest_scale;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float* to = out(warp, row_of_lane(i));
#pragma unroll
            for (int j = 0; j < tile.headdim / 16; ++j) {
                const float low = r.out[j][which][i] * factor;
                const float high = r.out[j][which][i + 2] * factor;
                if constexpr (tile.eight_bits != 0) {  // neighbours
                    *reinterpret_cast<float2*>(to + output_column<tile>(lane, j, i)) =
                        make_float2(low, high);
                } else {
                    to[output_column<tile>(lane, j, i)] = low;
                    to[output_column<tile>(lane, j, i + 2)] = high;
                }
            }
            float sum = r.sum[2 * which + i];
#pragma unroll
            for (int distance = 4; distance < 32; distance *= 2) {
                sum += __shfl_xor_sync(0xFFFFFFFFU, sum, distance);
            }
            if (lane < 4) {
                sums(warp)[half * which + row_of_lane(i)] = {r.base[2 * which + i], sum};
            }
        }
    }
    /// Sums of a row, of all warps from `warp` on that share a head.
    [[nodiscard]] __device__ __forceinline__ RowSum total(int warp, int row) const {
        RowSum all{-INFINITY, 0};
#pragma unroll
        for (int w = warp; w < warp + tile.sharers(); ++w) {
            all.base = fmaxf(all.base, sums(w)[row].base);
        }
#pragma unroll
        for (int w = warp; w < warp + tile.sharers(); ++w) {
            const RowSum one = sums(w)[row];
            all.sum += one.base == -INFINITY ? one.sum : one.sum * factor_of(one, all.base);
        }
        return all;
    }
    /// Waits for the warps that share a head.
    __device__ __forceinline__ void wait() const {
        if constexpr (tile.sharers() > 1) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
};

/// The rows of a unit's part, of the warps that share a head combined and written. `part`: of the
/// line.
template <Tile tile, bool bf16, int eights>
__device__ __forceinline__ void finish(const Params& p, const Walk& walk,
                                       const Rows<tile, eights>& r, float* memory,
                                       std::int32_t part) {
    constexpr int half = Meeting<tile>::half;
    // Warps that share a head write a row each; one that has a head for itself writes all of them.
    constexpr int threads_of_row = tile.sharers() > 1 ? tile.threads() / half : 32;
    constexpr int rows_at_once = 32 * tile.sharers() / threads_of_row;
    const Meeting<tile> meeting{memory};
    // Head of the unit: with one alone the compiler is told so, or it keeps registers for it.
    const int own = tile.heads() > 1 ? static_cast<int>(threadIdx.x) / (32 * tile.sharers()) : 0;
    const std::int32_t head = walk.head + own;
    const int thread = static_cast<int>(threadIdx.x) - own * 32 * tile.sharers();
    const int warp = own * tile.sharers();
    const int first = static_cast<int>(threadIdx.x) % threads_of_row * 4;
    const AttentionArgs& a = p.args;
    const std::int32_t rows = walk.sequence.band.length_q * p.group - walk.row_tile * tile_rows;
#pragma unroll 1
    for (int which = 0; which < eights && which * half < rows; ++which) {
        meeting.wait();  // what met here before has been read
        if (which == 0) {
            meeting.template give<0>(r);
        } else {
            meeting.template give<eights - 1>(r);
        }
        meeting.wait();
#pragma unroll 1
        for (int turn = 0; turn < half; turn += rows_at_once) {
            const int row = turn + thread / threads_of_row;
            const int here = which * half + row;
            const RowSum total = meeting.total(warp, here);
            const Row its = row_of(p, walk, head, here);
            RowEnd end{1, 0};
            RowAddress to{};
            float* partial = nullptr;
            if (walk.whole()) {
                end = end_of(a, total, its.head, v_scale_of(a, walk.index, head));
                to = address_of(a, walk.sequence, its);
            } else {
                const int begins = walk.block == walk.unit.first ? 1 : 0;
                const int slot = ((2 * part + begins) * tile.heads() + own) * tile_rows + here;
                partial = p.partial_out + slot * tile.headdim;
                if (first == 0) {
                    reinterpret_cast<RowSum*>(p.partial_sums)[slot] = total;
                }
            }
            if (!its.exists) {
                continue;
            }
#pragma unroll 1
            for (int column = first; column < tile.headdim; column += 4 * threads_of_row) {
                float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
                for (int w = warp; w < warp + tile.sharers(); ++w) {
                    const float factor = factor_of(meeting.sums(w)[here], total.base);
                    sum =
                        add_scaled(sum, factor,
                                   *reinterpret_cast<const float4*>(meeting.out(w, row) + column));
                }
                if (partial != nullptr) {
                    *reinterpret_cast<float4*>(partial + column) = sum;
                } else {
                    store_four<bf16>(p, to.out, column, scaled(sum, end.factor));
                }
            }
            if (partial == nullptr && first == 0 && a.lse != nullptr) {
                a.lse[to.lse] = end.lse;
            }
        }
    }
}

}  // namespace raceline::kernels::decode_sm90

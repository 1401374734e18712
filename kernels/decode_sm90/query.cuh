// SPDX-License-Identifier: Apache-2.0
// A unit's rows of Q, from memory to the registers of each warp.
#pragma once

#include "kernels/decode_sm90/step.cuh"

namespace raceline::kernels::decode_sm90 {

/// Row `row` of a unit's KV head: a query token and a head.
struct Row {
    std::int32_t token, head;  ///< of the sequence; of all heads
    bool exists;
};
__device__ __forceinline__ Row row_of(const Params& p, const Walk& walk, std::int32_t head,
                                      std::int32_t row) {
    const std::int32_t packed_row = walk.row_tile * tile_rows + row;
    const std::int32_t token = p.by_group.divide(packed_row);
    return {token, head * p.group + packed_row - token * p.group,
            token < walk.sequence.band.length_q};
}

/// What Q's scale, K's and, of a softcap, the cap's make of a product.
__device__ __forceinline__ float product_scale(const Params& p, const Walk& walk,
                                               std::int32_t head) {
    const AttentionArgs& a = p.args;
    const std::int32_t at = walk.index * a.heads_kv + head;
    float scale = p.cap_inner != 0 ? p.cap_inner : p.scale_log2;
    scale *= a.q_scale != nullptr ? a.q_scale[at] : 1.0F;
    return scale * (a.k_scale != nullptr ? a.k_scale[at] : 1.0F);
}

/// A row of Q: a word is two neighbouring columns, those behind the tensor's last zero. `paired`:
/// they can be read as one.
template <Tile tile, bool paired>
__device__ __forceinline__ void load_row(const std::uint16_t* row, int columns,
                                         std::uint32_t (&q)[tile.headdim / 16][2]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int step = 0; step < tile.headdim / 16; ++step) {
#pragma unroll
        for (int w = 0; w < 2; ++w) {
            const int column = 16 * step + (tile.eight_bits != 0 ? 4 * (lane % 4) + 2 * w
                                                                 : 2 * (lane % 4) + 8 * w);
            std::uint32_t word = 0;
            if (column < columns) {
                if constexpr (paired) {
                    word = *reinterpret_cast<const std::uint32_t*>(row + column);
                } else {  // head dims are even
                    word = row[column] | static_cast<std::uint32_t>(row[column + 1]) << 16;
                }
            }
            q[step][w] = word;
        }
    }
}

/// Words in bf16 of a row of a quad as words in fp16: multiplied by a power of two that puts the
/// row's largest element between 2^8 and 2^9. Returns what undoes that.
template <int steps>
__device__ __forceinline__ float to_fp16(std::uint32_t (&q)[steps][2]) {
    std::uint32_t largest = 0;
#pragma unroll
    for (int w = 0; w < 2 * steps; ++w) {
        const std::uint32_t two = q[w / 2][w % 2];
        largest = larger(largest, larger(two & 0x7FFFU, two >> 16 & 0x7FFFU));
    }
    largest = larger(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 1));
    largest = larger(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 2));
    const int exponent = static_cast<int>(largest >> 7);
    // Zeros and numbers next to them, infinities and NaN: as they are.
    const int power = exponent > 16 && exponent < 255 ? 127 + 8 - exponent : 0;
    const float factor = __uint_as_float(static_cast<std::uint32_t>(127 + power) << 23);
#pragma unroll
    for (int w = 0; w < 2 * steps; ++w) {
        std::uint32_t& two = q[w / 2][w % 2];
        two = packed<false>(__uint_as_float(two << 16) * factor,
                            __uint_as_float(two & 0xFFFF0000U) * factor);
    }
    return __uint_as_float(static_cast<std::uint32_t>(127 - power) << 23);
}

/// What a row sees under a tree, as Rows holds it. Bits behind the sequence's last token are
/// garbage.
__device__ __forceinline__ void see_tree(const TreeParams& p, const Sequence& s, Row row,
                                         std::int32_t& from, std::int32_t& to) {
    from = s.band.length_k - s.band.length_q;
    to = 0;
    if (row.exists) {
        const std::int64_t first = s.q_token + std::int64_t{s.q_index} * p.args.seqlen_q;
        to = static_cast<std::int32_t>(p.tree[first + row.token] &
                                       0xFFFFFFFFU >> (32 - s.band.length_q));
    } else {
        from = 0;
    }
}

/// A unit's rows: Q, and what each sees. A quad holds a row of Q; of logits and outputs a lane has
/// other rows (row_of_lane).
template <Tile tile, bool bf16, int eights, class Params>
__device__ __forceinline__ void load_query(const Params& p, const Walk& walk,
                                           Rows<tile, eights>& r) {
    const AttentionArgs& a = p.args;
    const Sequence& s = walk.sequence;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const std::int32_t head = walk.own_head<tile>();
    const float scale = product_scale(p, walk, head);
#pragma unroll
    for (int n = 0; n < eights; ++n) {
        const Row row = row_of(p, walk, head, lane / 4 + 8 * n);
        const std::uint16_t* from =
            static_cast<const std::uint16_t*>(a.q.data) + s.q_index * a.q.batch_stride +
            (s.q_token + row.token) * a.q.seq_stride + row.head * a.q.head_stride;
        const int columns = row.exists ? a.headdim : 0;
        if (p.paired_q) [[likely]] {
            load_row<tile, true>(from, columns, r.q[n]);
        } else {
            load_row<tile, false>(from, columns, r.q[n]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2 * eights; ++i) {
        const Row row = row_of(p, walk, head, row_of_lane(i));
        if constexpr (has_tree<Params>) {
            see_tree(p, s, row, r.from[i], r.to[i]);
        } else {
            r.from[i] = row.exists ? s.band.begin(row.token) : 0;
            r.to[i] = row.exists ? s.band.end(row.token) : 0;
        }
        r.scale[i] = scale;
    }
    if constexpr (tile.eight_bits != 0 && bf16) {
#pragma unroll
        for (int n = 0; n < eights; ++n) {
            const float factor = to_fp16(r.q[n]);
#pragma unroll
            for (int i = 0; i < 2; ++i) {  // from the quad that holds the row
                r.scale[2 * n + i] *= __shfl_sync(0xFFFFFFFFU, factor, 4 * row_of_lane(i));
            }
        }
    }
}

/// Nothing has been added up.
template <Tile tile, int eights>
__device__ __forceinline__ void clear_sums(Rows<tile, eights>& r) {
#pragma unroll
    for (int i = 0; i < 2 * eights; ++i) {
        r.base[i] = -INFINITY;
        r.sum[i] = 0;
    }
    if constexpr (tile.token_scales != 0) {
        // Below any scale; its inverse times such a scale stays small, too.
        r.largest_scale = 0x1p-100F;
        r.inverse_scale = 0x1p100F;
    }
#pragma unroll
    for (int j = 0; j < tile.headdim / 16; ++j) {
#pragma unroll
        for (int i = 0; i < 4 * eights; ++i) {
            r.out[j][i / 4][i % 4] = 0;
        }
    }
}

}  // namespace raceline::kernels::decode_sm90

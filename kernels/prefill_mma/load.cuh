// SPDX-License-Identifier: Apache-2.0
// What a CTA has to do, and its rows of Q, K and V from global to shared memory, by all threads: a
// thread copies the same 16-byte chunk of every slab, of every (threads / 8)-th row.
#pragma once

#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/special_register.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/tile/sequence.cuh"
#include "kernels/prefill_mma/fragment.hpp"
#include "kernels/prefill_mma/params.hpp"
#include "kernels/prefill_mma/tile.hpp"

namespace raceline::kernels::prefill_mma {

using schedule::Sequence;

/// What a CTA has to do. It stands in shared memory and is read where it is needed: in registers it
/// would cost what the products need.
struct alignas(16) Work {
    Sequence sequence;
    Blocks blocks;
    std::int32_t first_row, head, head_kv;
    bool empty;  ///< a shorter sequence has no such rows
};

template <Tile tile>
__device__ __forceinline__ Work work_of(const Params& p, schedule::WorkTile tile_of_rows) {
    Work w{};
    const std::int32_t b = tile_of_rows.head / p.args.heads_q;
    w.sequence = schedule::sequence_of<Sequence>(p, b);
    w.head = tile_of_rows.head - b * p.args.heads_q;
    w.head_kv = w.head / p.group;
    w.first_row = tile_of_rows.row_tile * tile.rows;
    w.empty = w.first_row >= w.sequence.band.length_q;
    w.blocks = w.empty ? Blocks{0, 0} : w.sequence.band.blocks(w.first_row, tile.rows, tile.keys);
    return w;
}

/// The rows of one head of a tensor in one sequence. Every use works out the thread's own part
/// again: kept from block to block it would cost registers that the products need.
struct Rows {
    const TensorArg& tensor;
    std::int32_t token, index, head;  ///< of the sequence's first row
    std::int32_t headdim;             ///< elements of a row
    std::int32_t tokens;              ///< rows that the sequence has
};

/// Eight elements of two bytes, those from `count` on zero.
__device__ __forceinline__ uint4 load_chunk(const std::uint16_t* from, int count) {
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < 8; ++e) {
        if (e < count) {
            words[e / 2] |= static_cast<std::uint32_t>(from[e]) << (16 * (e % 2));
        }
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Starts copying tokens [first, first + rows) to the slabs at `to`. What does not exist becomes
/// zeros: tokens behind the sequence's last may belong to another or hold NaN, and 0 times V's
/// would not be 0. By hand: rows that are no aligned 16-byte chunks are copied at once, by loads
/// and stores.
template <int columns, int rows, int threads, bool by_hand>
__device__ __forceinline__ void fetch(const Rows& source, std::uint32_t to, std::int32_t first) {
    constexpr int step = threads / 8;
    const std::uint32_t thread = ptx::tid_x_volatile();
    const auto row_of_thread = static_cast<std::int32_t>(thread / 8U);
    const auto column = static_cast<std::int32_t>(thread % 8U * 8U);
    const std::uint32_t mine = to + swizzled_bytes(thread / 8U, thread % 8U, rows);
    const std::int32_t columns_left = source.headdim - column;
    const std::int32_t tokens_left = source.tokens - first - row_of_thread;
    const TensorArg& t = source.tensor;
    const std::uint16_t* from = static_cast<const std::uint16_t*>(t.data) +
                                source.index * t.batch_stride + source.head * t.head_stride +
                                (source.token + first + row_of_thread) * t.seq_stride + column;
    constexpr int unrolled = by_hand ? 1 : rows / step;
#pragma unroll unrolled
    for (int row = 0; row < rows; row += step) {
#pragma unroll
        for (int slab = 0; slab < columns / slab_columns; ++slab) {
            const std::uint32_t at = mine + (slab * rows + row) * slab_row_bytes;
            const std::uint16_t* chunk = from + row * t.seq_stride + slab * slab_columns;
            const int count = row < tokens_left ? columns_left - slab * slab_columns : 0;
            if constexpr (by_hand) {
                ptx::st_shared_v4_u32(at, load_chunk(chunk, count));
            } else {
                ptx::cp_async_cg_16(at, chunk, count > 0 ? 16 : 0);
            }
        }
    }
}

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
// The transposing warps: 8-bit products take V with its keys side by side only, and it comes with
// its columns side by side. Both 8 × 8 instructions move pairs of bytes, so a pair of columns is
// split in between; what order that leaves keys and columns in, fragment.hpp says.
#pragma once

#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/ld_shared_u32.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/stmatrix.cuh"
#include "kernels/prefill_sm90_fp8/pipeline.cuh"
#include "kernels/prefill_sm90_fp8/sequence.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Zeros for the bytes of keys that do not exist: 0 times what stands there would not be 0 if that
/// is a NaN. Byte b of a word is key `first` + 8·(b / 2) + b % 2.
__device__ __forceinline__ std::uint32_t existing(std::uint32_t word, int first, int keys) {
    std::uint32_t mask = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        mask |= first + 8 * (b / 2) + b % 2 < keys ? 0xffU << (8 * b) : 0U;
    }
    return word & mask;
}

/// What a lane adds to a block's addresses: the row that it names to ldmatrix is a key, to stmatrix
/// a column, and both stand among eight whose pieces of 16 bytes are exchanged in the same way.
template <Tile tile>
struct Places {
    static constexpr int groups = tile.headdim / 16;
    static constexpr int pieces = groups * (tile.keys / 32);  ///< 32 keys of 16 columns each
    static constexpr int rows_in = tile.keys;
    static constexpr int rows_out = tile.headdim;
    std::uint32_t from, to;
    int matrix, row;

    __device__ __forceinline__ void load(std::uint32_t (&x)[4], int piece) const {
        ptx::ldmatrix_x4_trans(
            x, from + swizzled_bytes<tile.row_bytes()>(32 * (piece / groups) + 8 * matrix + row,
                                                       piece % groups, rows_in));
    }
    __device__ __forceinline__ void store(const std::uint32_t (&x)[4], int piece) const {
        ptx::stmatrix_x4(to + swizzled_bytes<tile.key_row_bytes()>(
                                  16 * (piece % groups) + 8 * (matrix % 2) + row,
                                  2 * (piece / groups) + matrix / 2, rows_out),
                         x);
    }
};

/// Pairs of columns as loaded, to the even columns of 16 keys and the odd ones, twice.
__device__ __forceinline__ void split_columns(std::uint32_t (&x)[4]) {
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
        const std::uint32_t even = __byte_perm(x[half], x[half + 1], 0x6420);
        x[half + 1] = __byte_perm(x[half], x[half + 1], 0x7531);
        x[half] = even;
    }
}

/// The pieces of a block that are this warp's, two at a time so that one's way hides the other's.
template <Tile tile>
__device__ __forceinline__ void transpose_block(const Places<tile>& at, int warp) {
#pragma unroll 1
    for (int piece = warp; piece < at.pieces; piece += 2 * transposers) {
        const bool second = piece + transposers < at.pieces;
        std::uint32_t x[4], y[4];
        at.load(x, piece);
        if (second) {
            at.load(y, piece + transposers);
        }
        split_columns(x);
        at.store(x, piece);
        if (second) {
            split_columns(y);
            at.store(y, piece + transposers);
        }
    }
}

/// The same where only the first `keys` of the block exist.
template <Tile tile>
__device__ __forceinline__ void transpose_partial(const Places<tile>& at, int warp, int keys) {
#pragma unroll 1
    for (int piece = warp; piece < at.pieces; piece += transposers) {
        std::uint32_t x[4];
        at.load(x, piece);
        split_columns(x);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int first = 32 * (piece / at.groups) + 16 * (i / 2);
            x[i] = existing(x[i], first + 2 * static_cast<int>(threadIdx.x % 4), keys);
        }
        at.store(x, piece);
    }
}

template <Tile tile>
struct Transposer {
    const Params& p;
    Shared<tile> s;
    int warp;  ///< among the transposing ones
    Ring<tile.stages> ring;
    Ring<announced_items> item_ring;

    __device__ __forceinline__ int next_item() {
        ptx::mbarrier_wait_parity(s.item_full(item_ring.stage), item_ring.parity);
        const auto index = static_cast<int>(ptx::ld_shared_u32(s.announced(item_ring.stage)));
        __syncwarp();
        release(s.item_empty(item_ring.stage));
        item_ring.advance();
        return index;
    }
    /// `keys` from the block's first one on exist.
    __device__ __forceinline__ void transpose(int keys) {
        ptx::mbarrier_wait_parity(s.v_full(ring.stage), ring.parity);
        ptx::mbarrier_wait_parity(s.t_empty(ring.stage), ring.parity ^ 1);
        const int lane = static_cast<int>(threadIdx.x % 32);
        const Places<tile> at{s.v(ring.stage), s.t(ring.stage), lane / 8, lane % 8};
        if (keys < tile.keys) {
            transpose_partial(at, warp, keys);
        } else {
            transpose_block(at, warp);
        }
        ptx::fence_proxy_async_shared();
        __syncwarp();
        release(s.v_empty(ring.stage));
        release(s.t_full(ring.stage));
        ring.advance();
    }
    __device__ __forceinline__ void transpose_all() {
        const int items = p.order.items();
#pragma unroll 1
        for (int index = next_item(); index < items; index = next_item()) {
            const Work w = work_of<tile>(p, p.order.item(index));
#pragma unroll 1
            for (int block = w.blocks.last - 1; block >= w.blocks.first; --block) {
                transpose(w.sequence.band.length_k - block * tile.keys);
            }
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

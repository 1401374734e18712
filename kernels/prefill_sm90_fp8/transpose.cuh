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

/// 32 keys from 32·step on of the 16 columns 16·group … of a block, by one warp. `keys`: those of
/// the block that exist, where that is not all of them.
template <Tile tile, bool partial>
__device__ __forceinline__ void transpose_piece(std::uint32_t from, std::uint32_t to, int step,
                                                int group, int keys) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int matrix = lane / 8;
    const int row = lane % 8;
    std::uint32_t x[4];
    ptx::ldmatrix_x4_trans(
        x, from + swizzled_bytes<tile.row_bytes()>(32 * step + 8 * matrix + row, group, tile.keys));
    std::uint32_t y[4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 16 keys: the even columns, then the odd ones
        y[2 * half] = __byte_perm(x[2 * half], x[2 * half + 1], 0x6420);
        y[2 * half + 1] = __byte_perm(x[2 * half], x[2 * half + 1], 0x7531);
    }
    if constexpr (partial) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            y[i] = existing(y[i], 32 * step + 16 * (i / 2) + 2 * (lane % 4), keys);
        }
    }
    ptx::stmatrix_x4(to + swizzled_bytes<tile.key_row_bytes()>(16 * group + 8 * (matrix % 2) + row,
                                                               2 * step + matrix / 2, tile.headdim),
                     y);
}

/// The pieces of a block that are this warp's.
template <Tile tile, bool partial>
__device__ __forceinline__ void transpose_block(std::uint32_t from, std::uint32_t to, int warp,
                                                int keys) {
    constexpr int groups = tile.headdim / 16;
    constexpr int pieces = groups * (tile.keys / 32);
#pragma unroll 4
    for (int piece = warp; piece < pieces; piece += transposers) {
        transpose_piece<tile, partial>(from, to, piece / groups, piece % groups, keys);
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
        if (keys < tile.keys) {
            transpose_block<tile, true>(s.v(ring.stage), s.t(ring.stage), warp, keys);
        } else {
            transpose_block<tile, false>(s.v(ring.stage), s.t(ring.stage), warp, keys);
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

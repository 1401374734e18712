// SPDX-License-Identifier: Apache-2.0
// Transposing V, by warps of the kernel or of a launch before it: 8-bit products take V with its
// keys side by side only, and it comes with its columns side by side. Both 8 × 8 instructions move
// pairs of bytes, so a pair of columns is split in between; what order that leaves keys and columns
// in, fragment.hpp says.
#pragma once

#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/stmatrix.cuh"
#include "kernels/prefill_sm90/params.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"

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

/// Pairs of columns as loaded, to the even columns of 16 keys and the odd ones, twice.
__device__ __forceinline__ void split_columns(std::uint32_t (&x)[4]) {
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
        const std::uint32_t even = __byte_perm(x[half], x[half + 1], 0x6420);
        x[half + 1] = __byte_perm(x[half], x[half + 1], 0x7531);
        x[half] = even;
    }
}

/// A block is transposed in strips: `subtiles` times 32 keys of 16 columns, which one warp takes.
/// Where columns are few, strips are short, so that the warps get about as much each.
template <Tile tile>
struct Strip {
    static constexpr int groups = tile.headdim / 16;
    static constexpr int all_subtiles = tile.keys / 32;
    static constexpr int subtiles =
        groups < 8 && tile.keys % 64 == 0 ? all_subtiles / 2 : all_subtiles;
    static constexpr int parts = all_subtiles / subtiles;
    static constexpr int count = groups * parts;
    /// Subtiles on their way at a time: one's way hides the other's.
    static constexpr int batch = register_split(tile).producer >= 40 && subtiles % 4 == 0 ? 4 : 2;
    std::uint32_t from, to;  ///< of this lane, in V and in V transposed, for the block's first keys
    unsigned first;          ///< the strip's first subtile

    /// The row that a lane names to ldmatrix is a key, to stmatrix a column, and both stand among
    /// eight whose chunks of 16 bytes are exchanged in the same way, whatever keys and columns.
    __device__ __forceinline__ Strip(std::uint32_t v, std::uint32_t t, unsigned strip)
        : first(parts == 1 ? 0 : strip / groups * subtiles) {
        const int lane = static_cast<int>(threadIdx.x % 32);
        const int matrix = lane / 8;
        const int row = lane % 8;
        const int group = static_cast<int>(parts == 1 ? strip : strip % groups);
        from = v + swizzled_bytes<tile.row_bytes()>(8 * matrix + row, group, tile.keys);
        to = t + swizzled_bytes<tile.key_row_bytes()>(16 * group + 8 * (matrix % 2) + row,
                                                      matrix / 2, tile.headdim);
    }
    __device__ __forceinline__ void load(std::uint32_t (&x)[4], unsigned i) const {
        ptx::ldmatrix_x4_trans(x, from + (first + i) * (32 * tile.row_bytes()));
    }
    /// Two chunks of 16 bytes further on in a row of keys for every 32 of them, as the swizzle has
    /// it; the next slab where the row ends.
    __device__ __forceinline__ void store(const std::uint32_t (&x)[4], unsigned i) const {
        constexpr unsigned in_row = tile.key_row_bytes() / 32;
        const unsigned subtile = first + i;
        ptx::stmatrix_x4((to ^ (subtile % in_row * 32)) +
                             subtile / in_row * (tile.headdim * tile.key_row_bytes()),
                         x);
    }
    /// `keys` of the block exist; not all, if `partial`.
    template <bool partial>
    __device__ __forceinline__ void transpose(int keys) const {
#pragma unroll
        for (int start = 0; start < subtiles; start += batch) {
            std::uint32_t x[batch][4];
#pragma unroll
            for (int i = 0; i < batch && start + i < subtiles; ++i) {
                load(x[i], start + i);
            }
#pragma unroll
            for (int i = 0; i < batch && start + i < subtiles; ++i) {
                split_columns(x[i]);
                if constexpr (partial) {
                    clear_missing(x[i], 32 * static_cast<int>(first + start + i), keys);
                }
                store(x[i], start + i);
            }
        }
    }
    static __device__ __forceinline__ void clear_missing(std::uint32_t (&x)[4], int key, int keys) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            x[i] = existing(x[i], key + 16 * (i / 2) + 2 * static_cast<int>(threadIdx.x % 4), keys);
        }
    }
};

/// The strips of a block that are this warp's, one of `warps`.
template <Tile tile, int warps, bool partial>
__device__ __forceinline__ void transpose_strips(std::uint32_t v, std::uint32_t t, int warp,
                                                 int keys) {
#pragma unroll 1
    for (unsigned strip = warp; strip < Strip<tile>::count; strip += warps) {
        Strip<tile>(v, t, strip).template transpose<partial>(keys);
    }
}
/// This warp's part of a block, of whose keys the first `keys` exist.
template <Tile tile, int warps>
__device__ __forceinline__ void transpose_block(std::uint32_t v, std::uint32_t t, int warp,
                                                int keys) {
    if (keys < tile.keys) {
        transpose_strips<tile, warps, true>(v, t, warp, keys);
    } else {
        transpose_strips<tile, warps, false>(v, t, warp, keys);
    }
}

template <Tile tile>
struct Transposer {
    const Params& p;
    Shared<tile> s;
    int warp;  ///< among the transposing ones
    Ring<tile.stages> ring;
    Ring<tile.descriptor_slots> descriptor_ring;

    /// The blocks of the next work tile; false if there is none.
    __device__ __forceinline__ bool next_tile(Blocks& blocks, int& length_k) {
        const int slot = descriptor_ring.stage();
        ptx::mbarrier_wait_parity(s.descriptor_full(slot), descriptor_ring.parity());
        const uint4 all = ptx::ld_shared_v4_u32(descriptor_row(s, slot, blocks_row));
        const uint4 mask = ptx::ld_shared_v4_u32(descriptor_row(s, slot, mask_row));
        descriptor_ring.advance();
        __syncwarp();
        release(s.descriptor_empty(slot_done_with(descriptor_ring)));
        blocks = {number(all.x), number(all.y)};
        length_k = number(mask.z);
        return (all.z & tile_exists) != 0;
    }
    /// `keys` from the block's first one on exist.
    __device__ __forceinline__ void transpose(int keys) {
        ptx::mbarrier_wait_parity(s.raw_v_full(ring.stage()), ring.parity());
        ptx::mbarrier_wait_parity(s.v_empty(ring.stage()), ring.parity() ^ 1);
        transpose_block<tile, transposers>(s.raw_v(ring.stage()), s.v(ring.stage()), warp, keys);
        ptx::fence_proxy_async_shared();
        __syncwarp();
        release(s.raw_v_empty(ring.stage()));
        release(s.v_full(ring.stage()));
        ring.advance();
    }
    __device__ __forceinline__ void transpose_all() {
        Blocks blocks{};
        int length_k = 0;
#pragma unroll 1
        while (next_tile(blocks, length_k)) {
#pragma unroll 1
            for (int block = blocks.last - 1; block >= blocks.first; --block) {
                transpose(length_k - block * tile.keys);
            }
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

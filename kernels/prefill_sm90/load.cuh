// SPDX-License-Identifier: Apache-2.0
// What the copying warp reads of a work tile's descriptor, and how it starts a copy by TMA.
#pragma once

#include <cstdint>
#include <cuda.h>

#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"

namespace raceline::kernels::hopper {

/// Tokens from `token` on, as slabs of columns one behind the other. Columns that the tensor does
/// not have become zeros, and so do tokens behind its end.
struct Box {
    std::uint32_t to, full;  ///< where it goes, and the barrier that says that it is there
    const CUtensorMap* map;
    std::int32_t token, head, index;
};

/// `columns` columns of `rows` tokens; `slab` columns make a row of `row_bytes` in shared memory.
template <int columns, int rows, int slab, int row_bytes>
__device__ __forceinline__ void fetch(const Box& box) {
    ptx::mbarrier_arrive_expect_tx(box.full, columns / slab * rows * row_bytes);
#pragma unroll
    for (int i = 0; i < columns / slab; ++i) {
        ptx::cp_async_bulk_tensor_4d_shared_global(box.to + i * rows * row_bytes, box.map, i * slab,
                                                   box.token, box.head, box.index, box.full);
    }
}

/// Whose tokens are copied, as described.
struct Source {
    Blocks blocks;
    std::int32_t head, head_kv;
    std::int32_t length_q, length_k;  ///< length_q: from the work tile's first row on
    std::int32_t q_token, q_index, k_token, k_index;
    std::int32_t place;  ///< of block 0 among V's images, where a launch before has transposed V
    int slot;            ///< of the descriptor
    bool there, reversed;
};
template <auto tile>
__device__ __forceinline__ Source source_of(const Shared<tile>& s, int slot) {
    const uint4 blocks = ptx::ld_shared_v4_u32(descriptor_row(s, slot, blocks_row));
    const uint4 mask = ptx::ld_shared_v4_u32(descriptor_row(s, slot, mask_row));
    const uint4 tokens = ptx::ld_shared_v4_u32(descriptor_row(s, slot, tokens_row));
    std::int32_t place = 0;
    if constexpr (tile.eight_bits) {
        if constexpr (tile.prepared != 0) {
            place = number(ptx::ld_shared_v4_u32(descriptor_row(s, slot, scales_row)).z);
        }
    }
    return {{number(blocks.x), number(blocks.y)},
            number(mask.w),
            number(blocks.w),
            number(mask.y) - number(mask.x),
            number(mask.z),
            number(tokens.x),
            number(tokens.y),
            number(tokens.z),
            number(tokens.w),
            place,
            slot,
            (blocks.z & tile_exists) != 0,
            (blocks.z & tile_is_reversed) != 0};
}

}  // namespace raceline::kernels::hopper

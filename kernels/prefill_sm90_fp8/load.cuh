// SPDX-License-Identifier: Apache-2.0
// The copying warp: one thread walks through the CTA's items and fetches Q once an item and K and V
// once a block by TMA, as soon as their place is empty.
#pragma once

#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "gpu/ptx/st_shared_u32.cuh"
#include "kernels/prefill_sm90_fp8/pipeline.cuh"
#include "kernels/prefill_sm90_fp8/sequence.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Tokens from `token` on, as slabs of up to 128 columns one behind the other. Columns that the
/// tensor does not have become zeros, and so do tokens behind its end.
struct Box {
    std::uint32_t to, full;  ///< where it goes, and the barrier that says that it is there
    const CUtensorMap* map;
    std::int32_t token, head, index;
};

template <Tile tile, int rows>
__device__ __forceinline__ void fetch(const Box& box) {
    ptx::mbarrier_arrive_expect_tx(box.full, tile.headdim * rows);
#pragma unroll
    for (int slab = 0; slab < tile.headdim / tile.row_bytes(); ++slab) {
        ptx::cp_async_bulk_tensor_4d_shared_global(box.to + slab * rows * tile.row_bytes(), box.map,
                                                   slab * tile.row_bytes(), box.token, box.head,
                                                   box.index, box.full);
    }
}

template <Tile tile>
struct Loader {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;
    int round = 0;

    __device__ __forceinline__ void load_q(const Work& w) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            ptx::mbarrier_wait_parity(s.q_empty(q_ring.stage, warpgroup), q_ring.parity ^ 1);
            fetch<tile, 64>({s.q(q_ring.stage, warpgroup), s.q_full(q_ring.stage, warpgroup), &p.q,
                             w.sequence.q_token + w.first_row + 64 * warpgroup, w.head,
                             w.sequence.q_index});
        }
        q_ring.advance();
    }
    __device__ __forceinline__ void load_k(const Work& w, int block) {
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage), k_ring.parity ^ 1);
        fetch<tile, tile.keys>({s.k(k_ring.stage), s.k_full(k_ring.stage), &p.k,
                                w.sequence.k_token + block * tile.keys, w.head_kv,
                                w.sequence.k_index});
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(const Work& w, int block) {
        ptx::mbarrier_wait_parity(s.v_empty(v_ring.stage), v_ring.parity ^ 1);
        fetch<tile, tile.keys>({s.v(v_ring.stage), s.v_full(v_ring.stage), &p.v,
                                w.sequence.k_token + block * tile.keys, w.head_kv,
                                w.sequence.k_index});
        v_ring.advance();
    }
    /// The item to load next, announced to the other warps; one past the last if there is none.
    __device__ __forceinline__ int next_item() {
        const int index = draw();
        ptx::mbarrier_wait_parity(s.item_empty(item_ring.stage), item_ring.parity ^ 1);
        ptx::st_shared_u32(s.announced(item_ring.stage), static_cast<std::uint32_t>(index));
        ptx::mbarrier_arrive(s.item_full(item_ring.stage));
        item_ring.advance();
        ++round;
        return index;
    }
    __device__ __forceinline__ int draw() const {
        const int items = p.order.items();
        const int cta = static_cast<int>(blockIdx.x);
        const int ctas = static_cast<int>(gridDim.x);
        if (p.handed_out == nullptr || round == 0) {
            return index_of(cta, ctas, round, items);
        }
        return smaller(items, ctas + static_cast<int>(atomicAdd(p.handed_out, 1U)));
    }
    /// A block's values follow the keys of the block after it, as the matrix warpgroups ask for
    /// them.
    __device__ __forceinline__ void load_all() {
        const int items = p.order.items();
#pragma unroll 1
        for (int index = next_item(); index < items; index = next_item()) {
            const Work w = work_of<tile>(p, p.order.item(index));
            if (w.blocks.count() == 0) {
                continue;
            }
            load_k(w, w.blocks.last - 1);
            load_q(w);
#pragma unroll 1
            for (int block = w.blocks.last - 1; block > w.blocks.first; --block) {
                load_k(w, block - 1);
                load_v(w, block);
            }
            load_v(w, w.blocks.first);
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

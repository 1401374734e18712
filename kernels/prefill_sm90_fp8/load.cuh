// SPDX-License-Identifier: Apache-2.0
// The copying warp: it announces the CTA's items, and one of its threads fetches Q once an item and
// K and V, or V's image, once a block by TMA, as soon as their place is empty.
#pragma once

#include "gpu/ptx/cp_async_bulk.cuh"
#include "gpu/ptx/cp_async_bulk_tensor.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "kernels/prefill_sm90_fp8/announcement.cuh"

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

/// Whose tokens are copied, as announced.
struct Source {
    Blocks blocks;
    std::int32_t head, head_kv;
    std::int32_t q_token, q_index, k_token, k_index;
    std::int32_t place;  ///< of block 0 among V's images
    bool there;
};

template <Tile tile>
struct Loader {
    const Params& p;
    Shared<tile> s;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;
    Scheduler<tile> scheduler;

    __device__ __forceinline__ Loader(const Params& params, const Shared<tile>& shared)
        : p(params), s(shared), scheduler{params, shared, {}} {}

    /// The announcement in the current slot, which is made uniform: rows of it are then a constant
    /// away from one register, where the compiler would keep an address for each.
    __device__ __forceinline__ Source source() const {
        const int slot = number(ptx::uniform(word(item_ring.stage())));
        const uint4 blocks = ptx::ld_shared_v4_u32(announced_row(s, slot, blocks_row));
        const uint4 mask = ptx::ld_shared_v4_u32(announced_row(s, slot, mask_row));
        const uint4 tokens = ptx::ld_shared_v4_u32(announced_row(s, slot, tokens_row));
        std::int32_t place = 0;
        if constexpr (tile.prepared != 0) {
            place = number(ptx::ld_shared_v4_u32(announced_row(s, slot, scales_row)).z);
        }
        return {{number(blocks.x), number(blocks.y)},
                number(mask.w),
                number(blocks.w),
                number(tokens.x),
                number(tokens.y),
                number(tokens.z),
                number(tokens.w),
                place,
                (blocks.z & item_is_there) != 0};
    }
    __device__ __forceinline__ void load_q(const Source& w) {
#pragma unroll 1
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            ptx::mbarrier_wait_parity(s.q_empty(q_ring.stage(), warpgroup), q_ring.parity() ^ 1);
            fetch<tile, 64>({s.q(q_ring.stage(), warpgroup), s.q_full(q_ring.stage(), warpgroup),
                             &p.q, w.q_token + 64 * warpgroup, w.head, w.q_index});
        }
        q_ring.advance();
    }
    __device__ __forceinline__ void load_k(const Source& w, int block) {
        ptx::mbarrier_wait_parity(s.k_empty(k_ring.stage()), k_ring.parity() ^ 1);
        fetch<tile, tile.keys>({s.k(k_ring.stage()), s.k_full(k_ring.stage()), &p.k,
                                w.k_token + block * tile.keys, w.head_kv, w.k_index});
        k_ring.advance();
    }
    __device__ __forceinline__ void load_v(const Source& w, int block) {
        if constexpr (tile.prepared != 0) {
            return load_image(w, block);
        }
        ptx::mbarrier_wait_parity(s.v_empty(v_ring.stage()), v_ring.parity() ^ 1);
        fetch<tile, tile.keys>({s.v(v_ring.stage()), s.v_full(v_ring.stage()), &p.v,
                                w.k_token + block * tile.keys, w.head_kv, w.k_index});
        v_ring.advance();
    }
    /// V transposed, as shared memory has it: one run of bytes.
    __device__ __forceinline__ void load_image(const Source& w, int block) {
        const int stage = v_ring.stage();
        ptx::mbarrier_wait_parity(s.t_empty(stage), v_ring.parity() ^ 1);
        ptx::mbarrier_arrive_expect_tx(s.t_full(stage), tile.block_bytes());
        const std::int64_t image = std::int64_t{w.place + block} * p.args.heads_kv + w.head_kv;
        ptx::cp_async_bulk_shared_global(s.t(stage), p.images + image * tile.block_bytes(),
                                         tile.block_bytes(), s.t_full(stage));
        v_ring.advance();
    }
    /// A block's values follow the keys of the block after it, as the matrix warpgroups ask for
    /// them: the values of block `from` down to those behind `to`, and the keys from there on.
    __device__ __forceinline__ void load_blocks(const Source& w, int from, int to) {
#pragma unroll 1
        for (int block = from; block > to; --block) {
            load_k(w, block - 1);
            load_v(w, block);
        }
    }
    /// Down to which block copies are started before the next item is announced: the first, or, of
    /// items that are handed out, as late as draw_lead says.
    __device__ __forceinline__ int announces_at(const Source& w) const {
        const int last = w.blocks.last - 1;
        return p.handed_out != nullptr ? smaller(last, w.blocks.first + draw_lead) : last;
    }
    __device__ __forceinline__ bool copies(const Source& w) const {
        return threadIdx.x % 32 == 0 && w.blocks.count() > 0;
    }
    __device__ __forceinline__ void load_first(const Source& w) {
        if (copies(w)) {
            const int last = w.blocks.last - 1;
            load_k(w, last);
            load_q(w);
            load_blocks(w, last, announces_at(w));
        }
        __syncwarp();
    }
    __device__ __forceinline__ void load_rest(const Source& w) {
        if (copies(w)) {
            load_blocks(w, announces_at(w), w.blocks.first);
            load_v(w, w.blocks.first);
        }
        __syncwarp();
    }
    /// Executed by the whole warp. The next item is announced as soon as this one's first copies
    /// are under way. That takes nearly all of a thread's registers, so what this item's copies
    /// need is read again afterwards; it stands until three more have been announced.
    __device__ __forceinline__ void load_all() {
        scheduler.next();
#pragma unroll 1
        while (true) {
            const Source w = source();
            if (!w.there) {
                break;
            }
            load_first(w);
            scheduler.next();
            load_rest(source());
            item_ring.advance();
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

// SPDX-License-Identifier: Apache-2.0
// Where a matrix warpgroup stands: its items, its places in the rings of stages, and how it lets
// blocks go by that are not its own.
#pragma once

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "kernels/prefill_sm90/announcement.cuh"
#include "kernels/prefill_sm90/finish.cuh"
#include "kernels/prefill_sm90/products.cuh"

namespace raceline::kernels::prefill_sm90 {

template <Tile tile>
struct Stages {
    const Params& p;
    Shared<tile> s;
    int warpgroup;
    Turn<tile> turn;
    Ring<tile.stages> k_ring, v_ring;
    PieceRing<Shared<tile>::layout.q_pieces> q_ring;
    Ring<announced_items> item_ring;
    /// Bit 0: whether all warps met an odd number of times; bit 1: the same of our outputs.
    std::uint32_t odd = 0;

    __device__ __forceinline__ Stages(const Params& params, const Shared<tile>& shared, int wg)
        : p(params), s(shared), warpgroup(wg), turn{wg}, q_ring{static_cast<std::uint32_t>(wg)} {}

    /// Operands of the products, looked up before the waits for them.
    __device__ __forceinline__ std::uint64_t q_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(s.q(q_ring.piece())));
    }
    __device__ __forceinline__ std::uint64_t k_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(s.k(k_ring.stage())));
    }
    __device__ __forceinline__ std::uint64_t v_operand() const {
        return ptx::wgmma_descriptor_mn_major_128b(ptx::uniform(s.v(v_ring.stage())),
                                                   tile.keys * slab_row_bytes);
    }
    __device__ __forceinline__ void wait_q() const {
        ptx::mbarrier_wait_parity(s.q_full(q_ring.piece()), q_ring.parity());
    }
    __device__ __forceinline__ void wait_k(const Ring<tile.stages>& ring) const {
        ptx::mbarrier_wait_parity(s.k_full(ring.stage()), ring.parity());
    }
    __device__ __forceinline__ void wait_v() const {
        ptx::mbarrier_wait_parity(s.v_full(v_ring.stage()), v_ring.parity());
    }
    /// The next item. What was announced two items before is done with, down to the stores.
    __device__ __forceinline__ Pass next_item() {
        const int slot = item_ring.stage();
        ptx::mbarrier_wait_parity(s.item_full(slot), item_ring.parity());
        item_ring.advance();
        __syncwarp();
        release(s.item_empty(item_ring.stage()));
        const uint4 item = ptx::ld_shared_v4_u32(announced_row(s, slot, blocks_row));
        const uint4 own = ptx::ld_shared_v4_u32(announced_row(s, slot, warpgroups_row + warpgroup));
        return {slot,
                {number(ptx::uniform(item.x)), number(ptx::uniform(item.y))},
                {number(ptx::uniform(own.x)),
                 {number(ptx::uniform(own.y)), number(ptx::uniform(own.z))}},
                ptx::uniform(item.z)};
    }
    /// The product with K is complete; with the item's last block, Q is done with too.
    __device__ __forceinline__ void release_k(bool last_of_item) {
        release(s.k_empty(k_ring.stage()));
        k_ring.advance();
        if (last_of_item) {
            release(s.q_empty(q_ring.piece()));
            q_ring.advance(tile.warpgroups());
        }
    }
    /// There is room for our outputs: those of the item before have been read.
    __device__ __forceinline__ void wait_out() const {
        ptx::mbarrier_wait_parity(s.out_empty(warpgroup), odd / 2 ^ 1);
    }
    __device__ __forceinline__ void release_out() {
        __syncwarp();
        release(s.out_full(warpgroup));
        odd ^= 2;
    }
    __device__ __forceinline__ void release_v() {
        release(s.v_empty(v_ring.stage()));
        v_ring.advance();
    }
    /// An item's first block, where it reaches past the sequence: see Sequence::followed. All
    /// matrix warps meet here, each from wherever it is in its own order of things.
    __device__ __forceinline__ void clear_tail(const Pass& pass) {
        if (pass.is(item_clears_values)) {
            wait_v();
            const int length_k =
                number(ptx::ld_shared_v4_u32(announced_row(s, pass.slot, mask_row)).z);
            clear_values<tile>(s.v(v_ring.stage()), length_k - (pass.blocks.last - 1) * tile.keys);
            __syncwarp();
            release(s.cleared());
            ptx::mbarrier_wait_parity(s.cleared(), odd % 2);
            odd ^= 1;
        }
    }
    /// Lets the keys of the item's blocks that are not ours go by, and their values. No product
    /// brings a warp's lanes together between the wait and the release here: a lane that still
    /// polls when the stage is refilled would wait for the wrong phase.
    __device__ __forceinline__ void skip_keys(const Pass& pass) {
#pragma unroll 1
        for (int block = pass.blocks.last - 1; block >= pass.own.last; --block) {
            wait_k(k_ring);
            turn.take();
            turn.pass();
            __syncwarp();
            release_k(false);
        }
    }
    __device__ __forceinline__ void skip_values(const Pass& pass) {
#pragma unroll 1
        for (int block = pass.blocks.last - 1; block >= pass.own.last; --block) {
            wait_v();
            __syncwarp();
            release_v();
        }
    }
    /// Both, block by block. Nothing may be pending.
    __device__ __forceinline__ void skip(const Pass& pass) {
#pragma unroll 1
        for (int block = pass.blocks.last - 1; block >= pass.own.last; --block) {
            wait_k(k_ring);
            turn.take();
            turn.pass();
            __syncwarp();
            release_k(false);
            wait_v();
            if (block == pass.blocks.last - 1) {
                clear_tail(pass);
            }
            __syncwarp();
            release_v();
        }
    }
    /// The item's first scores can be multiplied while the values of the item before are. Keys of
    /// skipped blocks then go by first, their values afterwards. Those values must find room beside
    /// the ones that are pending, since the keys after them, which await_values waits for, are
    /// copied later. Nor while all warps wait for each other to clear values, with turns taken.
    [[nodiscard]] __device__ __forceinline__ bool goes_through(const Pass& pass) const {
        return pass.is(item_is_there) && !pass.left_out() &&
               (pass.skips() == 0 || (pass.skips() < tile.stages && !pass.is(item_clears_values)));
    }
    /// None of the item's blocks is ours.
    __device__ __forceinline__ void leave_out(const Pass& pass) {
        if (pass.blocks.count() > 0) {
            wait_q();
            __syncwarp();
            release(s.q_empty(q_ring.piece()));
            q_ring.advance(tile.warpgroups());
        }
        if (pass.has_rows()) {
            write_no_keys(p, ending_of(pass.slot));
        }
    }
    /// Our first row, counted from the item's.
    __device__ __forceinline__ int rows_from(int slot) const {
        return number(ptx::ld_shared_v4_u32(announced_row(s, slot, warpgroups_row + warpgroup)).w);
    }
    __device__ __forceinline__ Ending ending_of(int slot) const {
        const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, slot, mask_row));
        const uint4 to = ptx::ld_shared_v4_u32(announced_row(s, slot, output_row));
        return {number(to.x, to.y), number(to.z, to.w), number(rows.w), rows_from(slot),
                number(rows.y) - number(rows.x)};
    }
};

}  // namespace raceline::kernels::prefill_sm90

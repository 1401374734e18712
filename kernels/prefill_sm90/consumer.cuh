// SPDX-License-Identifier: Apache-2.0
// The steps of a matrix warpgroup: what it does with one block of keys. The order of items and
// blocks is compute.cuh's.
#pragma once

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "gpu/tile/tanh.cuh"
#include "kernels/prefill_sm90/announcement.cuh"
#include "kernels/prefill_sm90/finish.cuh"
#include "kernels/prefill_sm90/products.cuh"
#include "kernels/prefill_sm90/scores_again.cuh"
#include "kernels/prefill_sm90/softmax.cuh"

namespace raceline::kernels::prefill_sm90 {

/// `capped`: scores go through the tanh of a softcap.
template <Tile tile, bool bf16, bool capped>
struct Consumer {
    const Params& p;
    Shared<tile> s;
    int warpgroup;
    Turn<tile> turn;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;
    std::uint32_t clears = 0;  ///< how often all warps met

    __device__ __forceinline__ Consumer(const Params& params, const Shared<tile>& shared, int wg)
        : p(params), s(shared), warpgroup(wg), turn{wg} {}

    /// Operands of the products, looked up before the waits for them.
    __device__ __forceinline__ std::uint64_t q_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(s.q(q_ring.stage(), warpgroup)));
    }
    __device__ __forceinline__ std::uint64_t k_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(s.k(k_ring.stage())));
    }
    __device__ __forceinline__ std::uint64_t v_operand() const {
        return ptx::wgmma_descriptor_mn_major_128b(ptx::uniform(s.v(v_ring.stage())),
                                                   tile.keys * slab_row_bytes);
    }
    __device__ __forceinline__ void wait_q() const {
        ptx::mbarrier_wait_parity(s.q_full(q_ring.stage(), warpgroup), q_ring.parity());
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
            release(s.q_empty(q_ring.stage(), warpgroup));
            q_ring.advance();
        }
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
            ptx::mbarrier_wait_parity(s.cleared(), clears % 2);
            ++clears;
        }
    }
    /// Lets the keys of the item's blocks that are not ours go by, and their values. No product
    /// brings a warp's lanes together between the wait and the release here: a lane that still polls
    /// when the stage is refilled would wait for the wrong phase.
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
            release(s.q_empty(q_ring.stage(), warpgroup));
            q_ring.advance();
        }
        if (!pass.is(item_has_no_rows)) {
            write_no_keys(p, ending_of(pass.slot));
        }
    }
    /// Before the mask: tanh(-inf) is not -inf.
    __device__ __forceinline__ void cap(const Accumulators<tile>& a) const {
        if constexpr (capped) {
            gpu::warp_tanh(a.score, p.cap_inner);
        }
    }
    __device__ __forceinline__ void mask(const Accumulators<tile>& a, const Pass& pass,
                                         int block) const {
        if (block < pass.own.plain.first || block >= pass.own.plain.last) {
            const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, pass.slot, mask_row));
            const Band band{number(rows.y), number(rows.z), p.band.left, p.band.right};
            mask_scores<tile>(band, number(rows.x) + 64 * warpgroup, block * tile.keys, a.score);
        }
    }

    /// The first block when nothing is pending: there are no earlier values to multiply.
    __device__ __forceinline__ void begin(const Accumulators<tile>& a, const Pass& pass) {
        const int block = pass.own.last - 1;
        float keep[2];
        wait_q();
        wait_k(k_ring);
        turn.take();
        start_scores<tile, bf16>(a.score, q_operand(), k_operand());
        turn.pass();
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.score);
        release_k(block == pass.blocks.first);
        cap(a);
        mask(a, pass, block);
        a.state = RowState();
        clear(a.out);
        exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep);
        pack_probabilities<tile, bf16>(a.score, a.probability);
        if (block == pass.blocks.last - 1) {
            clear_tail(pass);
        }
    }

    /// Products of one step: the scores of a block, with their cap, and, under them, the values of
    /// the block before.
    __device__ __forceinline__ void multiply(const Accumulators<tile>& a) {
        const std::uint64_t q = q_operand();
        const std::uint64_t k = k_operand();
        const std::uint64_t v = v_operand();
        wait_k(k_ring);
        turn.take();
        start_scores<tile, bf16>(a.score, q, k);
        wait_v();
        start_values<tile, bf16>(a.out, a.probability, v);
        turn.pass();
        ptx::wgmma_wait_group<1>();
        ptx::pin_registers(a.score);
        cap(a);
    }
    /// The values are multiplied. The softmax belongs before this wait, or it lies under nothing.
    /// The assembler moves the wait up to the start of its basic block, past any arithmetic; so a
    /// block starts here, with a wait that is due anyway: for the keys of this item's next block.
    /// This block's K has not been released: its scores may be needed once more.
    __device__ __forceinline__ void await_values(const Accumulators<tile>& a, bool more_keys) {
        ptx::pin_registers(a.score);
        if (more_keys) {
            auto next_k = k_ring;
            next_k.advance();
            wait_k(next_k);
        }
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.out);
        release_v();
    }

    /// A warp's maxima have risen too far for its scores to be taken relative to the old ones: it
    /// multiplies them again, which Q and K are kept for.
    __device__ __forceinline__ void multiply_again(const Accumulators<tile>& a) const {
        multiply_scores_again<tile, bf16>(a.score, s.q(q_ring.stage(), warpgroup),
                                          s.k(k_ring.stage()));
        cap(a);
    }

    /// Blocks that need no mask, from `block` down to `end`.
    __device__ __forceinline__ void run(const Accumulators<tile>& a, int first, int block,
                                        int end) {
#pragma unroll 1
        for (; block >= end; --block) {
            multiply(a);
            const bool steady = exponentiate_steadily<tile>(p.scale_log2, a.score, a.state);
            await_values(a, block > first);
            if (!steady) {
                float keep[2];
                multiply_again(a);
                if (exponentiate<tile, false>(p.scale_log2, a.score, a.state, keep)) {
                    scale_rows(a.out, keep);
                }
            }
            release_k(block == first);
            pack_probabilities<tile, bf16>(a.score, a.probability);
        }
    }

    /// A block that may need a mask. `before`: the slot of the item that the values belong to if
    /// `fresh`, that is if the block is our first of another item; its output is complete then and
    /// is written.
    __device__ __forceinline__ void masked(const Accumulators<tile>& a, const Pass& pass, int block,
                                           bool fresh, int before) {
        float keep[2];
        if (fresh) {
            skip_keys(pass);
            wait_q();
        }
        multiply(a);
        mask(a, pass, block);
        const RowState ended = a.state;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            a.state.maximum[i] = fresh ? -INFINITY : a.state.maximum[i];
            a.state.sum[i] = fresh ? 0 : a.state.sum[i];
        }
        // A row that has seen no key so far has nothing that its scores could be relative to.
        const bool unknown = a.state.maximum[0] == -INFINITY || a.state.maximum[1] == -INFINITY;
        bool moves = false;
        bool steady = true;
        if (__any_sync(0xFFFFFFFFU, unknown) != 0) {
            moves = exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep);
        } else {
            steady = exponentiate_steadily<tile>(p.scale_log2, a.score, a.state);
        }
        await_values(a, block > pass.blocks.first);
        if (!steady) {
            multiply_again(a);
            mask(a, pass, block);
            moves = exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep);
        }
        release_k(block == pass.blocks.first);
        pack_probabilities<tile, bf16>(a.score, a.probability);
        if (fresh) {
            write(a, before, ended);
            clear(a.out);
            clear_tail(pass);
            skip_values(pass);
        } else if (moves) {
            scale_rows(a.out, keep);
        }
    }

    /// The values that are pending, of the item announced in slot `last`, where no scores are
    /// multiplied beside them.
    __device__ __forceinline__ void end(const Accumulators<tile>& a, int last) {
        const std::uint64_t v = v_operand();
        wait_v();
        start_values<tile, bf16>(a.out, a.probability, v);
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.out);
        release_v();
        write(a, last, a.state);
    }
    __device__ __forceinline__ Ending ending_of(int slot) const {
        const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, slot, mask_row));
        const uint4 to = ptx::ld_shared_v4_u32(announced_row(s, slot, output_row));
        return {number(to.x, to.y), number(to.z, to.w), number(rows.w), 64 * warpgroup,
                number(rows.y) - number(rows.x)};
    }
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int slot,
                                          const RowState& state) const {
        write_rows<tile, bf16>(p, ending_of(slot), a.out, state);
    }
};

}  // namespace raceline::kernels::prefill_sm90

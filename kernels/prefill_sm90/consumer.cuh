// SPDX-License-Identifier: Apache-2.0
// The steps of a matrix warpgroup: what it does with one block of keys. The order of items and
// blocks is compute.cuh's.
#pragma once

#include "gpu/tile/tanh.cuh"
#include "kernels/prefill_sm90/scores_again.cuh"
#include "kernels/prefill_sm90/softmax.cuh"
#include "kernels/prefill_sm90/stages.cuh"
#include "kernels/prefill_sm90/store.cuh"

namespace raceline::kernels::prefill_sm90 {

/// `capped`: scores go through the tanh of a softcap.
template <Tile tile, bool bf16, bool capped>
struct Consumer : Stages<tile> {
    using Base = Stages<tile>;
    using Base::Base;
    using Base::clear_tail;
    using Base::ending_of;
    using Base::k_operand;
    using Base::k_ring;
    using Base::p;
    using Base::q_operand;
    using Base::q_ring;
    using Base::release_k;
    using Base::release_out;
    using Base::release_v;
    using Base::rows_from;
    using Base::s;
    using Base::skip_keys;
    using Base::skip_values;
    using Base::turn;
    using Base::v_operand;
    using Base::wait_k;
    using Base::wait_out;
    using Base::wait_q;
    using Base::wait_v;
    using Base::warpgroup;

    /// Before the mask: tanh(-inf) is not -inf.
    __device__ __forceinline__ void cap(const Accumulators<tile>& a) const {
        if constexpr (capped) {
            gpu::warp_tanh(a.score, p.cap_inner);
        }
    }
    /// Returns the margin that the block's new maxima need.
    __device__ __forceinline__ float mask(const Accumulators<tile>& a, const Pass& pass,
                                          int block) const {
        if (block < pass.own.plain.first || block >= pass.own.plain.last) {
            const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, pass.slot, mask_row));
            const Band band{number(rows.y), number(rows.z), p.band.left, p.band.right};
            const std::int32_t row = number(rows.x) + rows_from(pass.slot);
            mask_scores<tile>(band, row, block * tile.keys, a.score);
            const int warp = static_cast<int>(threadIdx.x / 32 % 4);
            return band.end(row + 16 * warp) - block * tile.keys < few_keys ? few_keys_margin : 0;
        }
        return 0;
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
        const float margin = mask(a, pass, block);
        a.state = RowState();
        clear(a.out);
        exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep, margin);
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
        multiply_scores_again<tile, bf16>(a.score, s.q(q_ring.piece()), s.k(k_ring.stage()));
        cap(a);
    }

    /// Blocks that need no mask, from `block` down to `end`. Returns the block that it stops at:
    /// the one behind the last, or one whose scores must be multiplied again; `again` does that.
    __device__ __forceinline__ int run(const Accumulators<tile>& a, int first, int block, int end) {
#pragma unroll 1
        for (; block >= end; --block) {
            multiply(a);
            const bool steady = exponentiate_steadily<tile>(p.scale_log2, a.score, a.state);
            await_values(a, block > first);
            if (!steady) {
                float keep[2];
                if (!lower<tile>(a.score, a.state, keep)) {
                    break;
                }
                scale_rows(a.out, keep);
            }
            release_k(block == first);
            pack_probabilities<tile, bf16>(a.score, a.probability);
        }
        return block;
    }
    __device__ __forceinline__ void again(const Accumulators<tile>& a, bool last_of_item) {
        float keep[2];
        multiply_again(a);
        exponentiate<tile, false>(p.scale_log2, a.score, a.state, keep);
        scale_rows(a.out, keep);
        release_k(last_of_item);
        pack_probabilities<tile, bf16>(a.score, a.probability);
    }

    /// A block that may need a mask. `before`: if the block is our first of another item than the
    /// values, the slot of theirs, else no_slot; its output is complete then and is written.
    __device__ __forceinline__ void masked(const Accumulators<tile>& a, const Pass& pass, int block,
                                           int before) {
        const bool fresh = before != no_slot;
        float keep[2];
        if (fresh) {
            skip_keys(pass);
            wait_q();
        }
        multiply(a);
        const float margin = mask(a, pass, block);
        float factor[2];
        if (fresh) {
            finish_rows(p, ending_of(before), a.state, factor);
            a.state = RowState();
        }
        // A row that has seen no key so far has nothing that its scores could be relative to.
        const bool unknown = a.state.base[0] == -INFINITY || a.state.base[1] == -INFINITY;
        constexpr int stays = 0, moves = 1, grows = 2;  // words: bools are packed into bytes
        int base = moves;
        if (__any_sync(0xFFFFFFFFU, unknown) != 0) {
            exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep, margin);
        } else {
            base = exponentiate_steadily<tile>(p.scale_log2, a.score, a.state) ? stays : grows;
        }
        await_values(a, block > pass.blocks.first);
        if (base == grows && !lower<tile>(a.score, a.state, keep)) {
            multiply_again(a);
            mask(a, pass, block);
            exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep);
        }
        release_k(block == pass.blocks.first);
        pack_probabilities<tile, bf16>(a.score, a.probability);
        if (fresh) {
            write(a, before, factor);
            clear(a.out);
            clear_tail(pass);
            skip_values(pass);
        } else if (base != stays) {
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
        float factor[2];
        finish_rows(p, ending_of(last), a.state, factor);
        write(a, last, factor);
    }
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int slot,
                                          const float (&factor)[2]) {
        if constexpr (stores_boxes(tile)) {
            wait_out();
            put_rows<tile, bf16>(s.out(warpgroup), a.out, factor);
            release_out();
        } else {
            write_rows<tile, bf16>(p, ending_of(slot), a.out, factor);
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90

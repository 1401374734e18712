// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup that has the scores of two blocks at a time: while those of one become
// probabilities, the next ones are multiplied already, so that a softmax never waits for its
// scores. For head dims whose products are shorter than the softmax between them; it costs the
// registers of a second block of scores.
#pragma once

#include "kernels/prefill_sm90/compute.cuh"

namespace raceline::kernels::prefill_sm90 {

template <Tile tile, bool bf16>
struct AheadConsumer {
    /// A block of an item.
    struct Place {
        int item, block, first;  ///< first: the item's last block in this order
        bool fresh;              ///< it is the item's first one in this order
    };
    using Score = float[tile.keys / 2];

    const Params& p;
    Shared<tile> s;
    int warpgroup;
    Turn<tile> turn;
    Ring<tile.stages> k_ring, v_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;
    Place lead{};       ///< whose scores are started next
    bool more = false;  ///< there is such a block
    int before = -1;    ///< item of the block whose values come next; -1: none yet
    Work work{};        ///< of the block whose scores become probabilities
    WarpgroupRows rows{Band{0, 0, -1, -1}, 0};

    __device__ __forceinline__ AheadConsumer(const Params& params, const Shared<tile>& shared,
                                             int wg)
        : p(params), s(shared), warpgroup(wg), turn{wg} {}

    __device__ __forceinline__ int draw() {
        ptx::mbarrier_wait_parity(s.item_full(item_ring.stage), item_ring.parity);
        const auto index = static_cast<int>(ptx::ld_shared_u32(s.announced(item_ring.stage)));
        __syncwarp();
        release(s.item_empty(item_ring.stage));
        item_ring.advance();
        return index;
    }
    /// `lead` becomes the block after it. Items whose rows see no key have no part in the stream.
    __device__ __forceinline__ void advance() {
        if (more && lead.block > lead.first) {
            --lead.block;
            lead.fresh = false;
            return;
        }
        more = false;
        const int items = p.order.items();
        for (int index = draw(); index < items; index = draw()) {
            const Work w = work_of<tile>(p, p.order.item(index));
            if (w.blocks.count() > 0) {
                lead = {index, w.blocks.last - 1, w.blocks.first, true};
                more = true;
                return;
            }
            if (!w.empty) {
                write_no_keys(p, w, w.first_row + 64 * warpgroup);
            }
        }
    }
    /// Behind the last block of all, stale operands are multiplied and nobody looks at the result:
    /// a product behind a branch would cost every other one.
    __device__ __forceinline__ void start_lead(Score& score) const {
        if (more) {
            if (lead.fresh) {
                ptx::mbarrier_wait_parity(s.q_full(q_ring.stage, warpgroup), q_ring.parity);
            }
            ptx::mbarrier_wait_parity(s.k_full(k_ring.stage), k_ring.parity);
        }
        start_scores<tile, bf16>(
            score,
            ptx::wgmma_descriptor_k_major_128b(ptx::recomputed(s.q(q_ring.stage, warpgroup))),
            ptx::wgmma_descriptor_k_major_128b(s.k(k_ring.stage)));
    }
    __device__ __forceinline__ void release_lead() {
        if (more) {
            release(s.k_empty(k_ring.stage));
            k_ring.advance();
            if (lead.block == lead.first) {
                release(s.q_empty(q_ring.stage, warpgroup));
                q_ring.advance();
            }
        }
    }
    __device__ __forceinline__ void start_values_before(
        float (&out)[tile.headdim_v / 2],
        const std::uint32_t (&probability)[tile.keys / 16][4]) const {
        start_values<tile, bf16>(
            out, probability,
            ptx::wgmma_descriptor_mn_major_128b(s.v(v_ring.stage), tile.keys * slab_row_bytes));
    }
    __device__ __forceinline__ void wait_v() const {
        ptx::mbarrier_wait_parity(s.v_full(v_ring.stage), v_ring.parity);
    }
    __device__ __forceinline__ WarpgroupRows rows_of(const Work& w) const {
        return {w.sequence.band, w.first_row + 64 * warpgroup};
    }
    __device__ __forceinline__ void write(float (&out)[tile.headdim_v / 2],
                                          const RowState& state) const {
        const Work w = work_of<tile>(p, p.order.item(before));
        write_rows<tile, bf16>(p, w, rows_of(w), out, state);
    }
    /// An item's first block, where it reaches past the sequence: see Sequence::followed.
    __device__ __forceinline__ void clear_tail() const {
        const int rest = work.sequence.band.length_k - (work.blocks.last - 1) * tile.keys;
        if (work.sequence.followed && rest < tile.keys) {
            clear_values<tile>(s.v(v_ring.stage), rest);
        }
    }

    /// The scores in `score`, of the block `lead`, become probabilities; those of the block after
    /// it are multiplied into `next` meanwhile, and the values of the block before it, too.
    __device__ __forceinline__ void step(Score& score, Score& next,
                                         float (&out)[tile.headdim_v / 2],
                                         std::uint32_t (&probability)[tile.keys / 16][4],
                                         RowState& state) {
        const Place at = lead;
        if (at.fresh) {
            work = work_of<tile>(p, p.order.item(at.item));
            rows = rows_of(work);
        }
        advance();
        turn.take();
        start_lead(next);
        start_values_before(out, probability);  // at the very first stale ones, cleared below
        turn.pass();

        const int first_key = at.block * tile.keys;
        if (!rows.sees_all(first_key, tile.keys)) {
            mask_scores<tile>(work.sequence.band, rows, first_key, score);
        }
        const RowState ended = state;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            state.maximum[i] = at.fresh ? -INFINITY : state.maximum[i];
            state.sum[i] = at.fresh ? 0 : state.sum[i];
        }
        float keep[2];
        const bool moves = exponentiate<tile, true>(p.scale_log2, score, state, keep);
        ptx::pin_registers(score);
        // The assembler moves the wait for the products up to the start of its basic block, past
        // any arithmetic; so a block starts here, with a wait that is due anyway, for this block's
        // V.
        const Ring<tile.stages> v_before = v_ring;
        if (before >= 0) {
            v_ring.advance();
        }
        wait_v();
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(out);
        ptx::pin_registers(next);
        release_lead();
        if (before >= 0) {
            release(s.v_empty(v_before.stage));
        }
        pack_probabilities<tile, bf16>(score, probability);
        if (at.fresh) {
            if (before >= 0) {
                write(out, ended);
            }
            clear(out);
            clear_tail();
        } else if (moves) {
            scale_rows(out, keep);
        }
        before = at.item;
    }
};

/// Executed by a matrix warpgroup.
template <Tile tile, bool bf16>
__device__ __forceinline__ void consume_ahead(const Params& p, const Shared<tile>& s,
                                              int warpgroup) {
    AheadConsumer<tile, bf16> consumer(p, s, warpgroup);
    consumer.turn.open();
    consumer.advance();
    if (consumer.more) {
        float even[tile.keys / 2];
        float odd[tile.keys / 2];
        float out[tile.headdim_v / 2];
        std::uint32_t probability[tile.keys / 16][4];
#pragma unroll
        for (int i = 0; i < tile.keys / 4; ++i) {
            probability[i / 4][i % 4] = 0;
        }
        RowState state;
        clear(out);
        consumer.start_lead(even);
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(even);
        consumer.release_lead();
#pragma unroll 1
        for (;;) {
            consumer.step(even, odd, out, probability, state);
            if (!consumer.more) {
                break;
            }
            consumer.step(odd, even, out, probability, state);
            if (!consumer.more) {
                break;
            }
        }
        consumer.start_values_before(out, probability);
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(out);
        release(s.v_empty(consumer.v_ring.stage));
        consumer.write(out, state);
    }
    consumer.turn.close();
}

}  // namespace raceline::kernels::prefill_sm90

// SPDX-License-Identifier: Apache-2.0
// The steps of a matrix warpgroup: what it does with one block of keys. The order of items and
// blocks is compute.cuh's.
#pragma once

#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/wgmma_descriptor_k_major.cuh"
#include "kernels/prefill_sm90_fp8/announcement.cuh"
#include "kernels/prefill_sm90_fp8/finish.cuh"
#include "kernels/prefill_sm90_fp8/product.cuh"
#include "kernels/prefill_sm90_fp8/scores_again.cuh"
#include "kernels/prefill_sm90_fp8/softmax.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

template <Tile tile>
struct Consumer {
    static constexpr bool promotes = Accumulators<tile>::promotes;
    const Params& p;
    Shared<tile> s;
    int warpgroup;
    Turn<tile> turn;
    Ring<tile.stages> k_ring, t_ring;
    Ring<Shared<tile>::layout.q_slots> q_ring;
    Ring<announced_items> item_ring;

    __device__ __forceinline__ Consumer(const Params& params, const Shared<tile>& shared, int wg)
        : p(params), s(shared), warpgroup(wg), turn{wg} {}

    /// Operands of the products, looked up before the waits for them. Rings count in uniform
    /// registers, and so are these.
    __device__ __forceinline__ std::uint64_t q_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.row_bytes()>(s.q(q_ring.stage(), warpgroup));
    }
    __device__ __forceinline__ std::uint64_t k_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.row_bytes()>(s.k(k_ring.stage()));
    }
    __device__ __forceinline__ std::uint64_t t_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.key_row_bytes()>(s.t(t_ring.stage()));
    }
    __device__ __forceinline__ void wait_q() const {
        ptx::mbarrier_wait_parity(s.q_full(q_ring.stage(), warpgroup), q_ring.parity());
    }
    __device__ __forceinline__ void wait_k(const Ring<tile.stages>& ring) const {
        ptx::mbarrier_wait_parity(s.k_full(ring.stage()), ring.parity());
    }
    __device__ __forceinline__ void wait_t() const {
        ptx::mbarrier_wait_parity(s.t_full(t_ring.stage()), t_ring.parity());
    }
    /// The next item. What was announced two items before is done with, down to the stores.
    __device__ __forceinline__ Pass next_item() {
        const int slot = item_ring.stage();
        ptx::mbarrier_wait_parity(s.item_full(slot), item_ring.parity());
        item_ring.advance();
        __syncwarp();
        release(s.item_empty(slot_done_with(item_ring)));
        const uint4 item = ptx::ld_shared_v4_u32(announced_row(s, slot, blocks_row));
        const uint4 own = ptx::ld_shared_v4_u32(announced_row(s, slot, warpgroups_row + warpgroup));
        const uint4 scales = ptx::ld_shared_v4_u32(announced_row(s, slot, scales_row));
        return {{slot,
                 {number(ptx::uniform(item.x)), number(ptx::uniform(item.y))},
                 {number(ptx::uniform(own.x)),
                  {number(ptx::uniform(own.y)), number(ptx::uniform(own.z))}},
                 ptx::uniform(item.z)},
                __uint_as_float(ptx::uniform(scales.x))};
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
    __device__ __forceinline__ void release_t() {
        release(s.t_empty(t_ring.stage()));
        t_ring.advance();
    }
    /// Lets the keys of the item's blocks that are not ours go by, and their values. No product
    /// makes the warp meet before it releases: a lane might miss a phase and wait forever.
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
            wait_t();
            __syncwarp();
            release_t();
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
            wait_t();
            __syncwarp();
            release_t();
        }
    }
    /// The item's first scores can be multiplied while the values of the item before are. Keys of
    /// skipped blocks then go by first, their values afterwards. Those values must find room beside
    /// the ones that are pending, since the keys after them, which await_values waits for, are
    /// copied later.
    [[nodiscard]] __device__ __forceinline__ bool goes_through(const Pass& pass) const {
        return pass.is(item_is_there) && !pass.left_out() && pass.skips() < tile.stages;
    }
    /// None of the item's blocks is ours.
    __device__ __forceinline__ void leave_out(const Pass& pass) {
        if (pass.blocks.count() > 0) {
            wait_q();
            __syncwarp();
            release(s.q_empty(q_ring.stage(), warpgroup));
            q_ring.advance();
        }
        if (pass.has_rows()) {
            write_no_keys(p, ending_of(pass.slot));
        }
    }
    /// True if there was something to mask.
    __device__ __forceinline__ bool mask(const Accumulators<tile>& a, const Pass& pass,
                                         int block) const {
        if (block >= pass.own.plain.first && block < pass.own.plain.last) {
            return false;
        }
        const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, pass.slot, mask_row));
        const Band band{number(rows.y), number(rows.z), p.band.left, p.band.right};
        mask_scores<tile>(band, number(rows.x) + 64 * warpgroup, block * tile.keys, a.score);
        return true;
    }

    /// The first block when nothing is pending: there are no earlier values to multiply.
    __device__ __forceinline__ bool begin(const Accumulators<tile>& a, const Pass& pass) {
        const int block = pass.own.last - 1;
        float keep[2];
        wait_q();
        wait_k(k_ring);
        turn.take();
        start_scores<tile>(a.score, q_operand(), k_operand());
        turn.pass();
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.score);
        release_k(block == pass.blocks.first);
        const bool masked = mask(a, pass, block);
        a.state = RowState();
        begin_sum<tile>(a.out);
        exponentiate<tile>(pass.scale_log2, a.score, a.state, keep);
        pack_probabilities<tile>(a.score, a.probability);
        return masked;
    }

    /// Products of one step: the scores of a block and, under them, the values of the block before.
    __device__ __forceinline__ void multiply(const Accumulators<tile>& a) {
        const std::uint64_t q = q_operand();
        const std::uint64_t k = k_operand();
        const std::uint64_t t = t_operand();
        wait_k(k_ring);
        turn.take();
        start_scores<tile>(a.score, q, k);
        wait_t();
        start_values<tile, promotes>(a.part, a.probability, t);
        turn.pass();
        ptx::wgmma_wait_group<1>();
        ptx::pin_registers(a.score);
    }
    /// The values are multiplied, and in `out`. The softmax belongs before this wait, or it lies
    /// under nothing. The assembler moves the wait up to the start of its basic block, past any
    /// arithmetic; so a block starts here, with a wait that is due anyway: for the keys of this
    /// item's next block, which come behind this one's. `k`: where this one's stand in the ring.
    __device__ __forceinline__ void await_values(const Accumulators<tile>& a, bool more_keys,
                                                 Ring<tile.stages> k) {
        if (more_keys) {
            k.advance();
            wait_k(k);
        }
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.part);
        if constexpr (promotes) {
            promote<0>(a);
        }
        release_t();
    }
    /// Adds the part at hand to `out`; the other parts, if any, are multiplied one by one, under
    /// nothing of this warpgroup's.
    template <int which>
    __device__ __forceinline__ void promote(const Accumulators<tile>& a) const {
        constexpr int parts = Accumulators<tile>::parts;
        add<which*(tile.headdim / 2 / parts)>(a.out, a.part);
        if constexpr (which + 1 < parts) {
            ptx::pin_registers(a.part);
            constexpr int column = (which + 1) * tile.promoted_columns();
            start_values<tile, true>(a.part, a.probability,
                                     t_operand() + column * tile.key_row_bytes() / 16);
            ptx::wgmma_wait_group<0>();
            ptx::pin_registers(a.part);
            promote<which + 1>(a);
        }
    }

    /// Blocks that need no mask, from `block` down to `end`; `first` is the item's.
    __device__ __forceinline__ void run(const Accumulators<tile>& a, float scale_log2, int first,
                                        int block, int end) {
        // Probabilities are converted while the values before them are multiplied, whose operands
        // must stay until then: not to be seen through, or the assembler fills those too early.
        const std::uint32_t identity = ptx::uniform(0x3210);
#pragma unroll 1
        for (; block >= end; --block) {
            multiply(a);
            const bool steady = exponentiate_steadily<tile>(scale_log2, a.score, a.state);
            std::uint32_t next[tile.keys / 32][4];
            pack_probabilities<tile>(a.score, next);
            pin_operand(next);
            await_values(a, block > first, k_ring);
            if (!steady) {
                // Scores are spoilt; Q and K are kept for this.
                float keep[2];
                multiply_scores_again<tile>(a.score, s.q(q_ring.stage(), warpgroup),
                                            s.k(k_ring.stage()));
                if (exponentiate<tile>(scale_log2, a.score, a.state, keep)) {
                    scale_rows(a.out, keep);
                }
                pack_probabilities<tile>(a.score, next);
            }
            release_k(block == first);
            copy_operand(next, a.probability, identity);
        }
    }

    /// A block that may need a mask, or of whose rows too little has been seen to take them
    /// relative to that. `before`: the slot of the item that the values belong to if `fresh`, that
    /// is if the block is our first of another item; its output is complete then and is written.
    /// True if there was something to mask.
    __device__ __forceinline__ bool masked(const Accumulators<tile>& a, const Pass& pass, int block,
                                           bool fresh, int before) {
        float keep[2];
        if (fresh) {
            skip_keys(pass);
            wait_q();
        }
        multiply(a);
        const Ring<tile.stages> k = k_ring;
        release_k(block == pass.blocks.first);
        const bool any = mask(a, pass, block);
        const RowState ended = a.state;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            a.state.base[i] = fresh ? -INFINITY : a.state.base[i];
            a.state.sum[i] = fresh ? 0 : a.state.sum[i];
        }
        const bool moves = exponentiate<tile>(pass.scale_log2, a.score, a.state, keep);
        ptx::pin_registers(a.score);
        await_values(a, block > pass.blocks.first, k);
        pack_probabilities<tile>(a.score, a.probability);
        if (fresh) {
            write(a, before, ended);
            clear(a.out);
            skip_values(pass);
        } else if (moves) {
            scale_rows(a.out, keep);
        }
        return any;
    }

    /// The values that are pending, of the item announced in slot `last`, where no scores are
    /// multiplied beside them.
    __device__ __forceinline__ void end(const Accumulators<tile>& a, int last) {
        const std::uint64_t t = t_operand();
        wait_t();
        start_values<tile, promotes>(a.part, a.probability, t);
        await_values(a, false, k_ring);
        write(a, last, a.state);
    }
    __device__ __forceinline__ Ending ending_of(int slot) const {
        const uint4 rows = ptx::ld_shared_v4_u32(announced_row(s, slot, mask_row));
        const uint4 to = ptx::ld_shared_v4_u32(announced_row(s, slot, output_row));
        const uint4 scales = ptx::ld_shared_v4_u32(announced_row(s, slot, scales_row));
        return {number(to.x, to.y), number(to.z, to.w), __uint_as_float(scales.y),
                number(rows.w),     64 * warpgroup,     number(rows.y) - number(rows.x)};
    }
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int slot,
                                          const RowState& state) const {
        write_rows<tile>(p, ending_of(slot), a.out, state);
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

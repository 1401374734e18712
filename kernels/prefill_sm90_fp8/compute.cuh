// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup: 64 rows against the blocks of keys, last to first, one item after the other.
// While the values of one block are multiplied, the scores of the next become probabilities, and
// the block after an item's last is the next item's first: nothing drains in between.
#pragma once

#include "gpu/ptx/ld_shared_u32.cuh"
#include "gpu/ptx/wgmma_descriptor_k_major.cuh"
#include "kernels/prefill_sm90_fp8/finish.cuh"
#include "kernels/prefill_sm90_fp8/pipeline.cuh"
#include "kernels/prefill_sm90_fp8/product.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What stays in registers from step to step: references to plain arrays, which the compiler puts
/// there, whereas it keeps a struct of arrays in memory.
template <Tile tile>
struct Accumulators {
    static constexpr bool promotes = tile.promote != 0;
    static constexpr int parts = promotes ? tile.headdim / tile.promoted_columns() : 1;
    static constexpr int values = tile.headdim / 2;
    float (&score)[tile.keys / 2];
    float (&out)[values];
    /// Where the tensor core adds up a block's values: `out` itself, or what is then added to it.
    float (&part)[values / parts];
    std::uint32_t (&probability)[tile.keys / 32][4];  ///< of the block whose values come next
    RowState& state;
};

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
    float scale_log2 = 0;  ///< of the item whose scores come next

    __device__ __forceinline__ Consumer(const Params& params, const Shared<tile>& shared, int wg)
        : p(params), s(shared), warpgroup(wg), turn{wg} {}

    __device__ __forceinline__ void start_scores_of(const Accumulators<tile>& a) const {
        start_scores<tile>(a.score,
                           ptx::wgmma_descriptor_k_major<tile.row_bytes()>(
                               ptx::recomputed(s.q(q_ring.stage, warpgroup))),
                           ptx::wgmma_descriptor_k_major<tile.row_bytes()>(s.k(k_ring.stage)));
    }
    /// Columns from `column` on; all of them where they are not promoted in parts.
    __device__ __forceinline__ void start_values_of(const Accumulators<tile>& a,
                                                    int column = 0) const {
        start_values<tile, promotes>(a.part, a.probability,
                                     ptx::wgmma_descriptor_k_major<tile.key_row_bytes()>(
                                         s.t(t_ring.stage) + column * tile.key_row_bytes()));
    }
    __device__ __forceinline__ void wait_q() const {
        ptx::mbarrier_wait_parity(s.q_full(q_ring.stage, warpgroup), q_ring.parity);
    }
    __device__ __forceinline__ void wait_k() const {
        ptx::mbarrier_wait_parity(s.k_full(k_ring.stage), k_ring.parity);
    }
    __device__ __forceinline__ void wait_t() const {
        ptx::mbarrier_wait_parity(s.t_full(t_ring.stage), t_ring.parity);
    }
    /// Index of the next item; as many as there are items: no more.
    __device__ __forceinline__ int next_item() {
        ptx::mbarrier_wait_parity(s.item_full(item_ring.stage), item_ring.parity);
        const auto index = static_cast<int>(ptx::ld_shared_u32(s.announced(item_ring.stage)));
        __syncwarp();
        release(s.item_empty(item_ring.stage));
        item_ring.advance();
        return index;
    }
    /// The product with K is complete; with the item's last block, Q is done with too.
    __device__ __forceinline__ void release_k(bool last_of_item) {
        release(s.k_empty(k_ring.stage));
        k_ring.advance();
        if (last_of_item) {
            release(s.q_empty(q_ring.stage, warpgroup));
            q_ring.advance();
        }
    }
    __device__ __forceinline__ void release_t() {
        release(s.t_empty(t_ring.stage));
        t_ring.advance();
    }

    /// The first block of all: there are no earlier values to multiply.
    __device__ __forceinline__ void begin(const Accumulators<tile>& a, const Work& w,
                                          const WarpgroupRows& rows) {
        const int block = w.blocks.last - 1;
        float keep[2];
        wait_q();
        wait_k();
        start_scores_of(a);
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.score);
        release_k(block == w.blocks.first);
        if (!rows.sees_all(block * tile.keys, tile.keys)) {
            mask_scores<tile>(w.sequence.band, rows, block * tile.keys, a.score);
        }
        exponentiate<tile, true>(scale_log2, a.score, a.state, keep);
        pack_probabilities<tile>(a.score, a.probability);
    }

    /// Products of one step: scores of `block` and, under them, the values of the block before.
    __device__ __forceinline__ void multiply(const Accumulators<tile>& a, const Work& w,
                                             int block) {
        wait_k();
        turn.take();
        start_scores_of(a);
        wait_t();
        start_values_of(a);
        turn.pass();
        ptx::wgmma_wait_group<1>();
        ptx::pin_registers(a.score);
        release_k(block == w.blocks.first);
    }
    /// The values are multiplied, and in `out`. The softmax belongs before this wait, or it lies
    /// under nothing. The assembler moves the wait up to the start of its basic block, past any
    /// arithmetic; so a block starts here, with a wait that is due anyway: for the keys of this
    /// item's next block.
    __device__ __forceinline__ void await_values(const Accumulators<tile>& a, bool more_keys) {
        ptx::pin_registers(a.score);
        if (more_keys) {
            wait_k();
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
            start_values_of(a, (which + 1) * tile.promoted_columns());
            ptx::wgmma_wait_group<0>();
            ptx::pin_registers(a.part);
            promote<which + 1>(a);
        }
    }

    /// Blocks that all rows see, from `block` down to `end`.
    __device__ __forceinline__ void run(const Accumulators<tile>& a, const Work& w, int block,
                                        int end) {
#pragma unroll 1
        for (; block >= end; --block) {
            float keep[2];
            multiply(a, w, block);
            const bool moves = exponentiate<tile, false>(scale_log2, a.score, a.state, keep);
            await_values(a, block > w.blocks.first);
            if (moves) {
                scale_rows(a.out, keep);
            }
            pack_probabilities<tile>(a.score, a.probability);
        }
    }

    /// A block that may need a mask. `before`: the item that the values belong to if `fresh`, that
    /// is if the block is another item's first; its output is complete then and is written.
    __device__ __forceinline__ void masked(const Accumulators<tile>& a, const Work& w,
                                           const WarpgroupRows& rows, int block, bool fresh,
                                           int before) {
        float keep[2];
        if (fresh) {
            wait_q();
        }
        multiply(a, w, block);
        if (!rows.sees_all(block * tile.keys, tile.keys)) {
            mask_scores<tile>(w.sequence.band, rows, block * tile.keys, a.score);
        }
        const RowState ended = a.state;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            a.state.maximum[i] = fresh ? -INFINITY : a.state.maximum[i];
            a.state.sum[i] = fresh ? 0 : a.state.sum[i];
        }
        const bool moves = exponentiate<tile, true>(scale_log2, a.score, a.state, keep);
        await_values(a, block > w.blocks.first);
        pack_probabilities<tile>(a.score, a.probability);
        if (fresh) {
            write(a, before, ended);
            clear(a.out);
        } else if (moves) {
            scale_rows(a.out, keep);
        }
    }

    /// The last values of all, of the item `last`.
    __device__ __forceinline__ void end(const Accumulators<tile>& a, int last) {
        wait_t();
        start_values_of(a);
        await_values(a, false);
        write(a, last, a.state);
    }
    __device__ __forceinline__ WarpgroupRows rows_of(const Work& w) const {
        return {w.sequence.band, w.first_row + 64 * warpgroup};
    }
    /// Looked up once more: registers are dearer than arithmetic once an item.
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int item,
                                          const RowState& state) const {
        const Work w = work_of<tile>(p, p.order.item(item));
        write_rows<tile>(p, w, rows_of(w), a.out, state);
    }
};

/// The stream of blocks from the first item that has any, which is looked up in `w`, to the last.
/// `next` looks up the next one and says whether there is one.
template <Tile tile, class Next>
__device__ __forceinline__ void stream(Consumer<tile>& consumer, const Work& w, const int& index,
                                       const Accumulators<tile>& a, const Next& next) {
    WarpgroupRows rows = consumer.rows_of(w);
    clear(a.out);
    consumer.begin(a, w, rows);
    int block = w.blocks.last - 1;  // the one whose probabilities stand ready
#pragma unroll 1
    for (;;) {
        const int before = index;
        const bool fresh = block == w.blocks.first;
        if (fresh) {
            if (!next()) {
                consumer.end(a, before);
                return;
            }
            rows = consumer.rows_of(w);
            block = w.blocks.last;
        }
        --block;
        if (fresh || !rows.sees_all(block * tile.keys, tile.keys)) {
            consumer.masked(a, w, rows, block, fresh, before);
        } else {
            const int end = larger(w.blocks.first, (rows.seen_from + tile.keys - 1) / tile.keys);
            consumer.run(a, w, block, end);
            block = end;
        }
    }
}

/// Executed by a matrix warpgroup.
template <Tile tile>
__device__ __forceinline__ void consume(const Params& p, const Shared<tile>& s, int warpgroup) {
    Consumer<tile> consumer(p, s, warpgroup);
    const int items = p.order.items();
    Work w;
    int index = 0;
    // Items whose rows see no key have no part in the stream of blocks.
    const auto next = [&] {
        for (index = consumer.next_item(); index < items; index = consumer.next_item()) {
            w = work_of<tile>(p, p.order.item(index));
            if (w.blocks.count() > 0) {
                consumer.scale_log2 = scale_log2_of(p, w);
                return true;
            }
            if (!w.empty) {
                write_no_keys(p, w, w.first_row + 64 * warpgroup);
            }
        }
        return false;
    };
    consumer.turn.open();
    if (next()) {
        float score[tile.keys / 2];
        float out[tile.headdim / 2];
        std::uint32_t probability[tile.keys / 32][4];
        RowState state;
        if constexpr (tile.promote != 0) {
            float part[tile.promoted_columns() / 2];
            stream(consumer, w, index, {score, out, part, probability, state}, next);
        } else {
            stream(consumer, w, index, {score, out, out, probability, state}, next);
        }
    }
    consumer.turn.close();
}

}  // namespace raceline::kernels::prefill_sm90_fp8

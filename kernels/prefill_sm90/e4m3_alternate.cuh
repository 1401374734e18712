// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup that does one thing after the other: scores, softmax, values. Its sums of one
// block take the registers that the block's scores have left, which is how promotion fits beside
// 160 registers a thread, or beside 128 outputs. While one warpgroup exponentiates, the products
// are the others'.
#pragma once

#include "kernels/prefill_sm90/e4m3_consumer.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Columns of P·V that are multiplied at a time: wide and narrow ones in turns, so that those of
/// one chunk are multiplied while those of the other are added.
template <Tile tile>
struct ValueChunks {
    static constexpr int wide = tile.promoted_columns();
    static constexpr int narrow = tile.narrow_columns();
    static constexpr bool narrow_first = narrow > 0 && tile.headdim == 128;
    static constexpr bool is_wide(int which) {
        return narrow == 0 || (which % 2 == 0) != narrow_first;
    }
    static constexpr int first(int which) {
        int column = 0;
        for (int i = 0; i < which; ++i) {
            column += is_wide(i) ? wide : narrow;
        }
        return column;
    }
};

template <Tile tile>
struct Alternation {
    using Chunks = ValueChunks<tile>;
    static constexpr int chunks = tile.value_chunks();
    static_assert(Chunks::first(chunks) == tile.headdim);
    static constexpr int at_once = Chunks::narrow > 0 ? 2 : 1;
    Consumer<tile>& c;
    const Accumulators<tile>& a;
    float (&narrow)[Chunks::narrow > 0 ? Chunks::narrow / 2 : 1];  ///< beside a.part, the wide one

    /// A descriptor, of which the lower half varies, in uniform registers.
    static __device__ __forceinline__ std::uint64_t uniform(std::uint64_t operand) {
        constexpr std::uint64_t upper = 0xFFFFFFFF00000000;
        return (operand & upper) | ptx::uniform(static_cast<std::uint32_t>(operand));
    }
    /// Scores of a block. The turn is ours, and passed on once they are under way.
    __device__ __forceinline__ void scores() const {
        const std::uint64_t q = uniform(c.q_operand());
        const std::uint64_t k = uniform(c.k_operand());
        c.wait_k(c.k_ring);
        start_scores<tile>(a.score, q, k);
        c.turn.pass();
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(a.score);
    }
    template <int which>
    __device__ __forceinline__ auto& chunk() const {
        if constexpr (Chunks::is_wide(which)) {
            return a.part;
        } else {
            return narrow;
        }
    }
    template <int which>
    __device__ __forceinline__ void start_chunk(std::uint64_t t) const {
        if constexpr (which < chunks) {
            constexpr int units = Chunks::first(which) * tile.key_row_bytes() / 16;
            start_values<tile, true>(chunk<which>(), a.probability, t + units);
        }
    }
    /// Adds the columns of chunk `which` to the outputs, while those of the next are multiplied.
    template <int which>
    __device__ __forceinline__ void add_chunks(std::uint64_t t) const {
        ptx::wgmma_wait_group<at_once == 2 && which + 1 < chunks ? 1 : 0>();
        ptx::pin_registers(chunk<which>());
        add<Chunks::first(which) / 2>(a.out, chunk<which>());
        if constexpr (which + at_once < chunks) {
            ptx::pin_registers(chunk<which>());
            start_chunk<which + at_once>(t);
        }
        if constexpr (which + 1 < chunks) {
            add_chunks<which + 1>(t);
        }
    }
    /// Values of the block whose probabilities are at hand. Takes the turn, and keeps it.
    __device__ __forceinline__ void values() const {
        const std::uint64_t t = uniform(c.v_operand());
        c.wait_v();
        c.turn.take();
        start_chunk<0>(t);
        if constexpr (at_once == 2) {
            start_chunk<1>(t);
        }
        add_chunks<0>(t);
        c.release_v();
    }

    /// A block that may need a mask, or of whose rows too little has been seen to take them
    /// relative to that. True if there was something to mask.
    __device__ __forceinline__ bool masked(const TileView<tile>& view, int block) const {
        float keep[2];
        scores();
        c.release_k(block == view.blocks.first);
        const bool any = c.mask(a, view, block);
        if (exponentiate<tile>(view.scale_log2, a.score, a.state, keep)) {
            scale_rows(a.out, keep);
        }
        pack_probabilities<tile>(a.score, a.probability);
        values();
        return any;
    }
    /// Of a block whose probabilities are beyond e4m3. Q and K are kept for this.
    __device__ __forceinline__ void rise(float scale_log2, const float (&total)[2]) const {
        float keep[2];
        if (move_base<tile>(a.score, total, a.state, keep)) {
            pack_probabilities<tile>(a.score, a.probability);
        } else {
            softmax_again<tile>(a.score, c.q(), c.s.k(c.k_ring.stage()), scale_log2, a.state, keep,
                                a.probability);
        }
        scale_rows(a.out, keep);
    }
    /// Blocks that need no mask, from `block` down to `end`; `first` is the work tile's.
    __device__ __forceinline__ void run(float scale_log2, int first, int block, int end) const {
#pragma unroll 1
        for (; block >= end; --block) {
            scores();
            float total[2];
            exponentiate_relative<tile>(scale_log2, a.state.base, a.score, total);
            if (__all_sync(0xFFFFFFFFU, total[0] <= steady_limit && total[1] <= steady_limit) !=
                0) {
                a.state.sum[0] += total[0];
                a.state.sum[1] += total[1];
                pack_probabilities<tile>(a.score, a.probability);
            } else {
                rise(scale_log2, total);
            }
            c.release_k(block == first);
            values();
        }
    }

    /// A work tile of which blocks are ours. A turn goes with the scores of each block and the
    /// values before them; values alone, of the last block, are one more, as every warpgroup counts
    /// them.
    __device__ __forceinline__ void work_tile(const TileView<tile>& view) const {
        c.wait_q();
        a.state = RowState();
        begin_sum<tile>(a.out);
        c.turn.take();
        // A row may have seen few keys of a first block with a mask: what comes next may rise far.
        int young = masked(view, view.own.last - 1) ? 1 : 0;
        int block = view.own.last - 2;
#pragma unroll 1
        while (block >= view.blocks.first) {
            const Blocks plain = view.own.plain;
            if (young != 0 || block < plain.first || block >= plain.last) {
                masked(view, block);
                young = 0;
                --block;
            } else {
                run(view.scale_log2, view.blocks.first, block, plain.first);
                block = plain.first - 1;
            }
        }
        c.turn.pass();
        c.write(a, view.slot, a.state);
    }
    /// None of the work tile's blocks is ours, and all have gone by.
    __device__ __forceinline__ void leave_out(const TileView<tile>& view) const {
        c.turn.take();
        c.turn.pass();
        c.leave_out(view);
    }
};

/// The stream of work tiles, to the end.
template <Tile tile, int count>
__device__ __forceinline__ void alternate(Consumer<tile>& consumer, const Accumulators<tile>& a,
                                          float (&narrow)[count]) {
    const Alternation<tile> steps{consumer, a, narrow};
#pragma unroll 1
    while (true) {
        const TileView<tile> view = consumer.next_tile();
        if (!view.is(tile_exists)) {
            break;
        }
        consumer.skip(view);
        if (view.left_out()) {
            steps.leave_out(view);
        } else {
            steps.work_tile(view);
        }
    }
}

}  // namespace raceline::kernels::prefill_sm90_fp8

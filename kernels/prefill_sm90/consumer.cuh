// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup of either type: 64 rows against the blocks of keys, last to first, one work
// tile after the other. While the values of one block are multiplied, the scores of the next become
// probabilities, and the block after a work tile's last is the next work tile's first: nothing
// drains in between. First where a warpgroup stands, its work tiles and its places in the rings of
// stages; then the steps of a block as far as both types do them alike; at last their order.
#pragma once

#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/redux_or_b32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::hopper {

/// Zeros for the rows of a block of V from `row` on, written by all matrix warpgroups together.
template <auto tile>
__device__ __forceinline__ void clear_values(std::uint32_t v, int row) {
    constexpr int threads = 128 * tile.warpgroups();
    const int bytes = (tile.keys - row) * slab_row_bytes;
#pragma unroll 1
    for (int slab = 0; slab < tile.headdim_v / slab_columns; ++slab) {
        const std::uint32_t start = v + (slab * tile.keys + row) * slab_row_bytes;
        for (int at = 16 * (static_cast<int>(threadIdx.x) - 128); at < bytes; at += 16 * threads) {
            ptx::st_shared_v4_u32(start + at, make_uint4(0, 0, 0, 0));
        }
    }
    ptx::fence_proxy_async_shared();
}

struct MaskedRows {
    Band band;
    std::int32_t first;
};

/// `Params` has args (AttentionArgs) and the band of a sequence of the longest lengths.
template <auto tile, class Params>
struct Stages {
    static constexpr int q_stages = Shared<tile>::layout.q_stages;
    /// In 8 bits a work tile's rows come and go together.
    using QRing = std::conditional_t<tile.eight_bits, Ring<q_stages / tile.warpgroups()>,
                                     StageRing<q_stages>>;
    const Params& p;
    Shared<tile> s;
    int warpgroup;
    Turn<tile> turn;
    Ring<tile.stages> k_ring, v_ring;
    QRing q_ring;
    Ring<tile.descriptor_slots> descriptor_ring;
    /// Of 16 bits. Bit 0: whether all warps met an odd number of times; bit 1: the same of our
    /// outputs.
    std::uint32_t odd = 0;

    __device__ __forceinline__ Stages(const Params& params, const Shared<tile>& shared, int wg)
        : p(params),
          s(shared),
          warpgroup(wg),
          turn{wg},
          q_ring{tile.eight_bits ? 0U : static_cast<std::uint32_t>(wg)} {}

    /// Our rows of Q, and their barriers.
    [[nodiscard]] __device__ __forceinline__ std::uint32_t q() const {
        if constexpr (tile.eight_bits) {
            return s.q(q_ring.stage(), warpgroup);
        } else {
            return s.q(q_ring.stage());
        }
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t q_full() const {
        if constexpr (tile.eight_bits) {
            return s.q_full(q_ring.stage(), warpgroup);
        } else {
            return s.q_full(q_ring.stage());
        }
    }
    __device__ __forceinline__ void release_q() {
        if constexpr (tile.eight_bits) {
            release(s.q_empty(q_ring.stage(), warpgroup));
            q_ring.advance();
        } else {
            release(s.q_empty(q_ring.stage()));
            q_ring.advance(tile.warpgroups());
        }
    }
    __device__ __forceinline__ void wait_q() const {
        ptx::mbarrier_wait_parity(q_full(), q_ring.parity());
    }
    __device__ __forceinline__ void wait_k(const Ring<tile.stages>& ring) const {
        ptx::mbarrier_wait_parity(s.k_full(ring.stage()), ring.parity());
    }
    __device__ __forceinline__ void wait_v() const {
        ptx::mbarrier_wait_parity(s.v_full(v_ring.stage()), v_ring.parity());
    }
    /// The product with K is complete; with the work tile's last block, Q is done with too.
    __device__ __forceinline__ void release_k(bool last_of_tile) {
        release(s.k_empty(k_ring.stage()));
        k_ring.advance();
        if (last_of_tile) {
            release_q();
        }
    }
    __device__ __forceinline__ void release_v() {
        release(s.v_empty(v_ring.stage()));
        v_ring.advance();
    }

    /// A row of the descriptor in a slot.
    [[nodiscard]] __device__ __forceinline__ uint4 described(int slot, int row) const {
        return ptx::ld_shared_v4_u32(descriptor_row(s, slot, row));
    }
    /// The next work tile. What was described two work tiles before is done with, down to the
    /// stores.
    __device__ __forceinline__ TileView<tile> next_tile() {
        const int slot = descriptor_ring.stage();
        ptx::mbarrier_wait_parity(s.descriptor_full(slot), descriptor_ring.parity());
        descriptor_ring.advance();
        __syncwarp();
        release(s.descriptor_empty(slot_done_with(descriptor_ring)));
        const uint4 all = described(slot, blocks_row);
        const uint4 own = described(slot, tile.descriptor_rows + warpgroup);
        uint4 scales;
        if constexpr (tile.eight_bits) {
            scales = described(slot, scales_row);
        }
        TileView<tile> view;
        view.slot = slot;
        view.blocks = {number(ptx::uniform(all.x)), number(ptx::uniform(all.y))};
        view.own = {number(ptx::uniform(own.x)),
                    {number(ptx::uniform(own.y)), number(ptx::uniform(own.z))}};
        view.flags = ptx::uniform(all.z);
        if constexpr (tile.eight_bits) {
            view.scale_log2 = __uint_as_float(ptx::uniform(scales.x));
        }
        return view;
    }

    /// Lets the keys of the work tile's blocks that are not ours go by, and their values. No
    /// product brings a warp's lanes together between the wait and the release here: a lane that
    /// still polls when the stage is refilled would wait for the wrong phase.
    __device__ __forceinline__ void skip_keys(const TileView<tile>& view) {
#pragma unroll 1
        for (int block = view.blocks.last - 1; block >= view.own.last; --block) {
            skip_block_of_keys();
        }
    }
    /// Our first block of a work tile comes next, if `fresh`: its rows are waited for.
    __device__ __forceinline__ void enter(const TileView<tile>& view, bool fresh) {
        if (fresh) {
            skip_keys(view);
            wait_q();
        }
    }
    __device__ __forceinline__ void skip_block_of_keys() {
        wait_k(k_ring);
        turn.take();
        turn.pass();
        __syncwarp();
        release_k(false);
    }
    __device__ __forceinline__ void skip_values(const TileView<tile>& view) {
#pragma unroll 1
        for (int block = view.blocks.last - 1; block >= view.own.last; --block) {
            wait_v();
            __syncwarp();
            release_v();
        }
    }
    /// There is room for our outputs: those of the work tile before have been read.
    __device__ __forceinline__ void wait_out() const {
        ptx::mbarrier_wait_parity(s.out_empty(warpgroup), odd / 2 ^ 1);
    }
    __device__ __forceinline__ void release_out() {
        __syncwarp();
        release(s.out_full(warpgroup));
        odd ^= 2;
    }
    /// A work tile's first block, where it reaches past the sequence: see Sequence::followed. All
    /// matrix warps meet here, each from wherever it is in its own order of things.
    __device__ __forceinline__ void clear_tail(const TileView<tile>& view) {
        if (view.is(tile_clears_values)) {
            wait_v();
            const int length_k = number(described(view.slot, mask_row).z);
            clear_values<tile>(s.v(v_ring.stage()), length_k - (view.blocks.last - 1) * tile.keys);
            __syncwarp();
            release(s.cleared());
            ptx::mbarrier_wait_parity(s.cleared(), odd % 2);
            odd ^= 1;
        }
    }
    /// Keys and values of blocks that are not ours, block by block. Nothing may be pending.
    __device__ __forceinline__ void skip(const TileView<tile>& view) {
#pragma unroll 1
        for (int block = view.blocks.last - 1; block >= view.own.last; --block) {
            skip_block_of_keys();
            wait_v();
            if constexpr (!tile.eight_bits) {
                if (block == view.blocks.last - 1) {
                    clear_tail(view);
                }
            }
            __syncwarp();
            release_v();
        }
    }
    /// The work tile's first scores can be multiplied while the values of the work tile before are.
    /// Keys of skipped blocks then go by first, their values afterwards. Those values must find
    /// room beside the ones that are pending, since the keys after them, which await_values waits
    /// for, are copied later. Nor while all warps wait for each other to clear values, with turns
    /// taken.
    [[nodiscard]] __device__ __forceinline__ bool goes_through(const TileView<tile>& view) const {
        if constexpr (tile.eight_bits) {
            return view.is(tile_exists) && !view.left_out() && view.skips() < tile.stages;
        } else {
            return view.is(tile_exists) && !view.left_out() &&
                   (view.skips() == 0 ||
                    (view.skips() < tile.stages && !view.is(tile_clears_values)));
        }
    }
    /// None of the work tile's blocks is ours.
    __device__ __forceinline__ void leave_out(const TileView<tile>& view) {
        if (view.blocks.count() > 0) {
            wait_q();
            __syncwarp();
            release_q();
        }
        if (view.has_rows()) {
            write_no_keys(p.args, output_rows_of(view.slot));
        }
    }
    /// Our first row, counted from the work tile's.
    [[nodiscard]] __device__ __forceinline__ int rows_from(int slot) const {
        if constexpr (tile.eight_bits) {
            return 64 * warpgroup;
        } else {
            return number(described(slot, tile.descriptor_rows + warpgroup).w);
        }
    }
    /// What rows of the work tile's sequence see, and the query row that is our first.
    [[nodiscard]] __device__ __forceinline__ MaskedRows masked_rows(int slot) const {
        const uint4 rows = described(slot, mask_row);
        const Band band{number(rows.y), number(rows.z), p.band.left, p.band.right};
        return {band, number(rows.x) + rows_from(slot)};
    }
    [[nodiscard]] __device__ __forceinline__ OutputRows output_rows_of(int slot) const {
        const uint4 rows = described(slot, mask_row);
        const uint4 to = described(slot, output_row);
        float v_scale = 1;
        if constexpr (tile.eight_bits) {
            v_scale = __uint_as_float(described(slot, scales_row).y);
        }
        return {number(to.x, to.y), number(to.z, to.w), v_scale,
                number(rows.w),     rows_from(slot),    number(rows.y) - number(rows.x)};
    }
};

/// The scores of a block when nothing is pending: there are no values to multiply beside them.
template <class Consumer, class Accumulators>
__device__ __forceinline__ void multiply_first(Consumer& c, const Accumulators& a,
                                               bool last_of_tile) {
    c.wait_q();
    c.wait_k(c.k_ring);
    c.turn.take();
    c.start_scores(a, c.q_operand(), c.k_operand());
    c.turn.pass();
    ptx::wgmma_wait_group<0>();
    ptx::pin_registers(a.score);
    c.release_k(last_of_tile);
}

/// Products of one step: the scores of a block and, under them, the values of the block before.
/// Operands are looked up before the waits for them.
template <class Consumer, class Accumulators>
__device__ __forceinline__ void multiply(Consumer& c, const Accumulators& a) {
    const std::uint64_t q = c.q_operand();
    const std::uint64_t k = c.k_operand();
    const std::uint64_t v = c.v_operand();
    c.wait_k(c.k_ring);
    c.turn.take();
    c.start_scores(a, q, k);
    c.wait_v();
    c.start_values(a, v);
    c.turn.pass();
    ptx::wgmma_wait_group<1>();
    ptx::pin_registers(a.score);
}

/// The values are multiplied, and in `out`. The softmax belongs before this wait, or it lies under
/// nothing. The assembler moves the wait up to the start of its basic block, past any arithmetic;
/// so a block starts here, with a wait that is due anyway: for the keys of this work tile's next
/// block, which come behind this one's. `k`: where this one's stand in the ring.
template <class Consumer, class Accumulators, int stages>
__device__ __forceinline__ void await_values(Consumer& c, const Accumulators& a, bool more_keys,
                                             Ring<stages> k) {
    if (more_keys) {
        k.advance();
        c.wait_k(k);
    }
    ptx::wgmma_wait_group<0>();
    c.take_values(a);
    c.release_v();
}

/// The values that are pending, where no scores are multiplied beside them.
template <class Consumer, class Accumulators>
__device__ __forceinline__ void multiply_last(Consumer& c, const Accumulators& a) {
    const std::uint64_t v = c.v_operand();
    c.wait_v();
    c.start_values(a, v);
    await_values(c, a, false, c.k_ring);
}

/// The stream of work tiles and blocks, to the end. The steps are the consumer's.
template <auto tile, class Consumer, class Accumulators>
__device__ __forceinline__ void stream(Consumer& consumer, const Accumulators& a) {
    int before =
        no_slot;  // slot of the work tile whose last block's values are still to be multiplied
#pragma unroll 1
    while (true) {
        const TileView<tile> view = consumer.next_tile();
        if (before != no_slot && !consumer.goes_through(view)) {
            consumer.end(a, before);
            before = no_slot;
        }
        if (!view.is(tile_exists)) {
            break;
        }
        const bool alone = before == no_slot;
        if (alone) {
            consumer.skip(view);
        }
        if (view.left_out()) {
            consumer.leave_out(view);
            continue;
        }
        int block = view.own.last - 1;
        // In 8 bits a row may have seen few keys of a first block with a mask: what comes next may
        // rise far.
        int young = 1;  // a word: the compiler packs what is bool into bytes, and those into memory
        if (alone) {
            young = consumer.begin(a, view) ? 1 : 0;
            --block;
        }
#pragma unroll 1
        while (block >= view.blocks.first) {
            const Blocks plain = view.own.plain;
            const bool fresh = before != no_slot;
            const bool careful = tile.eight_bits ? young != 0 : fresh;
            if (careful || block < plain.first || block >= plain.last) {
                young = consumer.masked(a, view, block, before) && fresh ? 1 : 0;
                before = no_slot;
                --block;
            } else {
                // The work tile's first row sees as far back as any: no block of ours that needs no
                // mask lies before the work tile's first.
                block = consumer.run(a, view, block);
            }
        }
        before = view.slot;
    }
}

}  // namespace raceline::kernels::hopper

// SPDX-License-Identifier: Apache-2.0
// The steps of a matrix warpgroup in 16 bits: what it does with one block of keys. The order of
// work tiles and blocks is consumer.cuh's.
#pragma once

#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/ptx/special_register.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k16.cuh"
#include "gpu/tile/tanh.cuh"
#include "kernels/prefill_sm90/consumer.cuh"
#include "kernels/prefill_sm90/f16_epilogue.cuh"
#include "kernels/prefill_sm90/f16_softmax.cuh"
#include "kernels/prefill_sm90/f16_tile.hpp"
#include "kernels/prefill_sm90/fragment.hpp"
#include "kernels/prefill_sm90/pipeline.cuh"

namespace raceline::kernels::prefill_sm90 {

/// Descriptor units (16 bytes) of 32 bytes along K within a slab, of 16 keys of V.
inline constexpr int k_step_units = 2;
inline constexpr int v_step_units = 16 * slab_row_bytes / 16;

/// Starts Q·Kᵀ of one block. `score` is overwritten.
template <Tile tile, bool bf16>
__device__ __forceinline__ void start_scores(float (&score)[tile.keys / 2], std::uint64_t q,
                                             std::uint64_t k) {
    constexpr int steps_per_slab = slab_columns / 16;
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < tile.headdim / 16; ++step) {
        const int slab = step / steps_per_slab;
        const int inside = step % steps_per_slab * k_step_units;
        const std::uint64_t a = q + slab * (64 * slab_row_bytes / 16) + inside;
        const std::uint64_t b = k + slab * (tile.keys * slab_row_bytes / 16) + inside;
        if constexpr (bf16) {
            ptx::wgmma_k16_bf16_ss(score, a, b, step > 0);
        } else {
            ptx::wgmma_k16_f16_ss(score, a, b, step > 0);
        }
    }
    ptx::wgmma_commit_group();
}

/// Starts out += P·V of one block.
template <Tile tile, bool bf16>
__device__ __forceinline__ void start_values(float (&out)[tile.headdim_v / 2],
                                             const std::uint32_t (&p)[tile.keys / 16][4],
                                             std::uint64_t v) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < tile.keys / 16; ++step) {
        if constexpr (bf16) {
            ptx::wgmma_k16_bf16_rs_t(out, p[step], v + step * v_step_units, true);
        } else {
            ptx::wgmma_k16_f16_rs_t(out, p[step], v + step * v_step_units, true);
        }
    }
    ptx::wgmma_commit_group();
}

using namespace hopper;

/// Q·Kᵀ once more, by a single warp for its own 16 rows: the way back when scores have been spoilt
/// (see exponentiate_steadily). wgmma would need the whole warpgroup, which has gone on.
/// `score` is overwritten, in the layout that wgmma's accumulators have: mma.sync's is the same for
/// every eight columns. `q`: the warpgroup's rows in shared memory, `k`: the block's keys.
template <Tile tile, bool bf16>
__device__ __forceinline__ void multiply_scores_again(float (&score)[tile.keys / 2],
                                                      std::uint32_t q, std::uint32_t k) {
    // Nothing of this is kept in registers from one time to the next.
    const std::uint32_t thread = ptx::tid_x_volatile();
    const int lane = static_cast<int>(thread % 32);
    const int warp = static_cast<int>(thread / 32 % 4);
    // Whose row and 16-byte chunk a lane names to ldmatrix: Q's matrices stand rows first, K's
    // chunks first, as mma's operands want them.
    const int row = 16 * warp + lane % 16;
    const int row_chunk = lane / 16;
    const int key = lane / 16 * 8 + lane % 8;
    const int key_chunk = lane / 8 % 2;
#pragma unroll
    for (int i = 0; i < tile.keys / 2; ++i) {
        score[i] = 0;
    }
#pragma unroll 1
    for (int step = 0; step < tile.headdim / 16; ++step) {
        std::uint32_t a[4];
        ptx::ldmatrix_x4(a, q + swizzled_bytes(row, 2 * step + row_chunk, 64));
        // The swizzle repeats after eight rows: pairs of columns are a constant apart.
        const std::uint32_t from = k + swizzled_bytes(key, 2 * step + key_chunk, tile.keys);
#pragma unroll
        for (int pair = 0; pair < tile.keys / 16; ++pair) {
            std::uint32_t b[4];
            ptx::ldmatrix_x4(b, from + pair * (16 * slab_row_bytes));
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int at = fragment_element(2 * pair + half, 0, 0);
                float d[4] = {score[at], score[at + 1], score[at + 2], score[at + 3]};
                const std::uint32_t columns[2] = {b[2 * half], b[2 * half + 1]};
                if constexpr (bf16) {
                    ptx::mma_m16n8k16_bf16(d, a, columns);
                } else {
                    ptx::mma_m16n8k16_f16(d, a, columns);
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    score[at + i] = d[i];
                }
            }
        }
    }
}

/// `capped`: scores go through the tanh of a softcap.
template <Tile tile, bool bf16, bool capped>
struct Consumer : Stages<tile, Params> {
    using Base = Stages<tile, Params>;
    using Base::Base;
    using Base::clear_tail, Base::skip_values, Base::output_rows_of;
    using Base::p, Base::s, Base::warpgroup, Base::k_ring, Base::v_ring, Base::release_k;
    using Base::wait_out, Base::release_out;

    /// Operands of the products, looked up before the waits for them.
    __device__ __forceinline__ std::uint64_t q_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(this->q()));
    }
    __device__ __forceinline__ std::uint64_t k_operand() const {
        return ptx::wgmma_descriptor_k_major_128b(ptx::uniform(s.k(k_ring.stage())));
    }
    __device__ __forceinline__ std::uint64_t v_operand() const {
        return ptx::wgmma_descriptor_mn_major_128b(ptx::uniform(s.v(v_ring.stage())),
                                                   tile.keys * slab_row_bytes);
    }
    __device__ __forceinline__ void start_scores(const Accumulators<tile>& a, std::uint64_t q,
                                                 std::uint64_t k) const {
        prefill_sm90::start_scores<tile, bf16>(a.score, q, k);
    }
    __device__ __forceinline__ void start_values(const Accumulators<tile>& a,
                                                 std::uint64_t v) const {
        prefill_sm90::start_values<tile, bf16>(a.out, a.probability, v);
    }
    /// Before the mask: tanh(-inf) is not -inf.
    __device__ __forceinline__ void cap(const Accumulators<tile>& a) const {
        if constexpr (capped) {
            gpu::warp_tanh(a.score, p.cap_inner);
        }
    }
    /// Returns the margin that the block's new maxima need.
    __device__ __forceinline__ float mask(const Accumulators<tile>& a, const TileView<tile>& view,
                                          int block) const {
        if (block < view.own.plain.first || block >= view.own.plain.last) {
            const MaskedRows rows = this->masked_rows(view.slot);
            mask_scores<tile>(rows.band, rows.first, block * tile.keys, a.score);
            const int first = rows.first + 16 * static_cast<int>(threadIdx.x / 32 % 4);
            return rows.band.end(first) - block * tile.keys < few_keys ? few_keys_margin : 0;
        }
        return 0;
    }

    /// The first block when nothing is pending: there are no earlier values to multiply.
    /// False: what follows may be taken relative to the maxima of this block.
    __device__ __forceinline__ bool begin(const Accumulators<tile>& a, const TileView<tile>& view) {
        const int block = view.own.last - 1;
        float keep[2];
        multiply_first(*this, a, block == view.blocks.first);
        cap(a);
        const float margin = mask(a, view, block);
        a.state = RowState();
        clear(a.out);
        exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep, margin);
        pack_probabilities<tile, bf16>(a.score, a.probability);
        if (block == view.blocks.last - 1) {
            clear_tail(view);
        }
        return false;
    }

    /// Products of one step, and the cap on its scores.
    __device__ __forceinline__ void multiply(const Accumulators<tile>& a) {
        hopper::multiply(*this, a);
        cap(a);
    }
    /// This block's K has not been released: its scores may be needed once more.
    __device__ __forceinline__ void await_values(const Accumulators<tile>& a, bool more_keys) {
        ptx::pin_registers(a.score);
        hopper::await_values(*this, a, more_keys, k_ring);
    }
    __device__ __forceinline__ void take_values(const Accumulators<tile>& a) const {
        ptx::pin_registers(a.out);
    }

    /// A warp's maxima have risen too far for its scores to be taken relative to the old ones: it
    /// multiplies them again, which Q and K are kept for.
    __device__ __forceinline__ void multiply_again(const Accumulators<tile>& a) const {
        multiply_scores_again<tile, bf16>(a.score, this->q(), s.k(k_ring.stage()));
        cap(a);
    }

    /// Blocks that need no mask, from `block` down. Returns the one behind the last that it has
    /// done: one may have to be multiplied again, which ends the run.
    __device__ __forceinline__ int run(const Accumulators<tile>& a, const TileView<tile>& view,
                                       int block) {
        const int end = view.own.plain.first;
        block = run_steadily(a, view.blocks.first, block, end);
        if (block >= end) {
            again(a, block == view.blocks.first);
            --block;
        }
        return block;
    }
    /// As far as scores stay near the old maxima. Returns the block that it stops at: the one
    /// behind `end`, or one for `again`.
    __device__ __forceinline__ int run_steadily(const Accumulators<tile>& a, int first, int block,
                                                int end) {
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
    __device__ __forceinline__ void again(const Accumulators<tile>& a, bool last_of_tile) {
        float keep[2];
        multiply_again(a);
        exponentiate<tile, false>(p.scale_log2, a.score, a.state, keep);
        scale_rows(a.out, keep);
        release_k(last_of_tile);
        pack_probabilities<tile, bf16>(a.score, a.probability);
    }

    /// A block that may need a mask. `before`: if the block is our first of another work tile than
    /// the values, the slot of theirs, else no_slot; its output is complete then and is written.
    __device__ __forceinline__ bool masked(const Accumulators<tile>& a, const TileView<tile>& view,
                                           int block, int before) {
        const bool fresh = before != no_slot;
        float keep[2];
        this->enter(view, fresh);
        multiply(a);
        const float margin = mask(a, view, block);
        float factor[2];
        if (fresh) {
            finish_rows(p, output_rows_of(before), a.state, factor);
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
        await_values(a, block > view.blocks.first);
        if (base == grows && !lower<tile>(a.score, a.state, keep)) {
            multiply_again(a);
            mask(a, view, block);
            exponentiate<tile, true>(p.scale_log2, a.score, a.state, keep);
        }
        release_k(block == view.blocks.first);
        pack_probabilities<tile, bf16>(a.score, a.probability);
        if (fresh) {
            write(a, before, factor);
            clear(a.out);
            clear_tail(view);
            skip_values(view);
        } else if (base != stays) {
            scale_rows(a.out, keep);
        }
        return false;
    }

    /// The values that are pending, of the work tile described in slot `last`, where no scores are
    /// multiplied beside them.
    __device__ __forceinline__ void end(const Accumulators<tile>& a, int last) {
        multiply_last(*this, a);
        float factor[2];
        finish_rows(p, output_rows_of(last), a.state, factor);
        write(a, last, factor);
    }
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int slot,
                                          const float (&factor)[2]) {
        if constexpr (stores_boxes(tile)) {
            wait_out();
            put_rows<tile, bf16>(s.out(warpgroup), a.out, factor);
            release_out();
        } else {
            write_rows<tile, bf16>(p, output_rows_of(slot), a.out, factor);
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90

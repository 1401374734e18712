// SPDX-License-Identifier: Apache-2.0
// The steps of a matrix warpgroup in 8 bits: what it does with one block of keys. The order of work
// tiles and blocks is consumer.cuh's.
#pragma once

#include "gpu/ptx/prmt_b32.cuh"
#include "gpu/ptx/wgmma_descriptor_k_major.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k32_e4m3.cuh"
#include "kernels/prefill_sm90/consumer.cuh"
#include "kernels/prefill_sm90/e4m3_epilogue.cuh"
#include "kernels/prefill_sm90/e4m3_scores_again.cuh"
#include "kernels/prefill_sm90/e4m3_softmax.cuh"
#include "kernels/prefill_sm90/e4m3_tile.hpp"
#include "kernels/prefill_sm90/ring.cuh"
#include "kernels/prefill_sm90/row_softmax.cuh"

namespace raceline::kernels::prefill_sm90_fp8 {

using namespace hopper;

/// Descriptor units (16 bytes) from the operand's start to a step of 32 bytes along K.
template <int row_bytes>
constexpr int step_units(int step, int rows) {
    constexpr int steps_a_slab = row_bytes / 32;
    return step / steps_a_slab * (rows * row_bytes / 16) + step % steps_a_slab * 2;
}

/// Starts Q·Kᵀ of one block. `score` is overwritten.
template <Tile tile>
__device__ __forceinline__ void start_scores(float (&score)[tile.keys / 2], std::uint64_t q,
                                             std::uint64_t k) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < tile.headdim / 32; ++step) {
        ptx::wgmma_k32_e4m3_ss(score, q + step_units<tile.row_bytes()>(step, 64),
                               k + step_units<tile.row_bytes()>(step, tile.keys), step > 0);
    }
    ptx::wgmma_commit_group();
}

/// Starts sum += P·V of one block, or sum = P·V if `fresh`; as many columns as `sum` holds, from
/// where `v` points on.
template <Tile tile, bool fresh, int count>
__device__ __forceinline__ void start_values(float (&sum)[count],
                                             const std::uint32_t (&p)[tile.keys / 32][4],
                                             std::uint64_t v) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < tile.keys / 32; ++step) {
        ptx::wgmma_k32_e4m3_rs(sum, p[step],
                               v + step_units<tile.key_row_bytes()>(step, tile.headdim),
                               !fresh || step > 0);
    }
    ptx::wgmma_commit_group();
}

/// No instruction: words of an operand as the compiler knows them pass through here, so that they
/// are complete before the wait that stands below.
template <int count>
__device__ __forceinline__ void pin_operand(std::uint32_t (&words)[count][4]) {
#pragma unroll
    for (int step = 0; step < count; ++step) {
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            words[step][word] = ptx::recomputed(words[step][word]);
        }
    }
}

/// to = from. `identity` is 0x3210, where the compiler must not know it.
template <int count>
__device__ __forceinline__ void copy_operand(const std::uint32_t (&from)[count][4],
                                             std::uint32_t (&to)[count][4],
                                             std::uint32_t identity) {
#pragma unroll
    for (int step = 0; step < count; ++step) {
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            to[step][word] = ptx::prmt_b32(from[step][word], 0U, identity);
        }
    }
}

/// clear(sum) for a work tile that begins with nothing pending. Where nobody transposes, the
/// compiler would pass these zeros on in uniform registers and keep what it knows of the work tile
/// on the stack.
template <Tile tile, int count>
__device__ __forceinline__ void begin_sum(float (&sum)[count]) {
    clear(sum);
    if constexpr (tile.prepared != 0) {
        ptx::pin_registers(sum);
    }
}

/// sum[first …] += part
template <int first, int count, int all>
__device__ __forceinline__ void add(float (&sum)[all], const float (&part)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        sum[first + i] += part[i];
    }
}

using namespace hopper;

template <Tile tile>
struct Consumer : Stages<tile, Params> {
    using Base = Stages<tile, Params>;
    using Base::Base;
    using Base::p, Base::s, Base::warpgroup, Base::k_ring, Base::v_ring, Base::release_k;
    using Base::skip_values, Base::output_rows_of;
    static constexpr bool promotes = Accumulators<tile>::promotes;

    /// Operands of the products, looked up before the waits for them. Rings count in uniform
    /// registers, and so are these.
    __device__ __forceinline__ std::uint64_t q_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.row_bytes()>(this->q());
    }
    __device__ __forceinline__ std::uint64_t k_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.row_bytes()>(s.k(k_ring.stage()));
    }
    __device__ __forceinline__ std::uint64_t v_operand() const {
        return ptx::wgmma_descriptor_k_major<tile.key_row_bytes()>(s.v(v_ring.stage()));
    }
    /// True if there was something to mask.
    __device__ __forceinline__ bool mask(const Accumulators<tile>& a, const TileView<tile>& view,
                                         int block) const {
        if (block >= view.own.plain.first && block < view.own.plain.last) {
            return false;
        }
        const MaskedRows rows = this->masked_rows(view.slot);
        mask_scores<tile>(rows.band, rows.first, block * tile.keys, a.score);
        return true;
    }

    /// The first block when nothing is pending: there are no earlier values to multiply.
    __device__ __forceinline__ bool begin(const Accumulators<tile>& a, const TileView<tile>& view) {
        const int block = view.own.last - 1;
        float keep[2];
        multiply_first(*this, a, block == view.blocks.first);
        const bool masked = mask(a, view, block);
        a.state = RowState();
        begin_sum<tile>(a.out);
        exponentiate<tile>(view.scale_log2, a.score, a.state, keep);
        pack_probabilities<tile>(a.score, a.probability);
        return masked;
    }

    __device__ __forceinline__ void start_scores(const Accumulators<tile>& a, std::uint64_t q,
                                                 std::uint64_t k) const {
        prefill_sm90_fp8::start_scores<tile>(a.score, q, k);
    }
    __device__ __forceinline__ void start_values(const Accumulators<tile>& a,
                                                 std::uint64_t v) const {
        prefill_sm90_fp8::start_values<tile, promotes>(a.part, a.probability, v);
    }
    __device__ __forceinline__ void take_values(const Accumulators<tile>& a) const {
        ptx::pin_registers(a.part);
        if constexpr (promotes) {
            promote<0>(a);
        }
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
            prefill_sm90_fp8::start_values<tile, true>(
                a.part, a.probability, v_operand() + column * tile.key_row_bytes() / 16);
            ptx::wgmma_wait_group<0>();
            ptx::pin_registers(a.part);
            promote<which + 1>(a);
        }
    }

    /// Blocks that need no mask, from `block` down. Returns the one behind the last of them.
    __device__ __forceinline__ int run(const Accumulators<tile>& a, const TileView<tile>& view,
                                       int block) {
        const float scale_log2 = view.scale_log2;
        const int first = view.blocks.first;
        const int end = view.own.plain.first;
        // Probabilities are converted while the values before them are multiplied, whose operands
        // must stay until then: not to be seen through, or the assembler fills those too early.
        const std::uint32_t identity = ptx::uniform(0x3210);
#pragma unroll 1
        for (; block >= end; --block) {
            multiply(*this, a);
            const bool steady = exponentiate_steadily<tile>(scale_log2, a.score, a.state);
            std::uint32_t next[tile.keys / 32][4];
            pack_probabilities<tile>(a.score, next);
            pin_operand(next);
            await_values(*this, a, block > first, k_ring);
            if (!steady) {
                // Scores are spoilt; Q and K are kept for this.
                float keep[2];
                multiply_scores_again<tile>(a.score, this->q(), s.k(k_ring.stage()));
                if (exponentiate<tile>(scale_log2, a.score, a.state, keep)) {
                    scale_rows(a.out, keep);
                }
                pack_probabilities<tile>(a.score, next);
            }
            release_k(block == first);
            copy_operand(next, a.probability, identity);
        }
        return end - 1;
    }

    /// A block that may need a mask, or of whose rows too little has been seen to take them
    /// relative to that. `before`: if the block is our first of another work tile than the values,
    /// the slot of theirs, else no_slot; its output is complete then and is written. True if there
    /// was something to mask.
    __device__ __forceinline__ bool masked(const Accumulators<tile>& a, const TileView<tile>& view,
                                           int block, int before) {
        const bool fresh = before != no_slot;
        float keep[2];
        this->enter(view, fresh);
        multiply(*this, a);
        const Ring<tile.stages> k = k_ring;
        release_k(block == view.blocks.first);
        const bool any = mask(a, view, block);
        const RowState ended = a.state;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            a.state.base[i] = fresh ? -INFINITY : a.state.base[i];
            a.state.sum[i] = fresh ? 0 : a.state.sum[i];
        }
        const bool moves = exponentiate<tile>(view.scale_log2, a.score, a.state, keep);
        ptx::pin_registers(a.score);
        await_values(*this, a, block > view.blocks.first, k);
        pack_probabilities<tile>(a.score, a.probability);
        if (fresh) {
            write(a, before, ended);
            clear(a.out);
            skip_values(view);
        } else if (moves) {
            scale_rows(a.out, keep);
        }
        return any;
    }

    /// The values that are pending, of the work tile described in slot `last`, where no scores are
    /// multiplied beside them.
    __device__ __forceinline__ void end(const Accumulators<tile>& a, int last) {
        multiply_last(*this, a);
        write(a, last, a.state);
    }
    __device__ __forceinline__ void write(const Accumulators<tile>& a, int slot,
                                          const RowState& state) const {
        write_rows<tile>(p, output_rows_of(slot), a.out, state);
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

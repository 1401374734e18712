// SPDX-License-Identifier: Apache-2.0
// A warp's rows against the blocks of keys, last to first. Copies of what comes next run under the
// products of what is there.
#pragma once

#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_m16n8.cuh"
#include "gpu/tile/half_pairs.cuh"
#include "kernels/prefill_mma/load.cuh"
#include "kernels/prefill_mma/softmax.cuh"

namespace raceline::kernels::prefill_mma {

/// d0 and d1, 16 × 8 each, side by side: += a times the two B operands in b.
template <bool bf16>
__device__ __forceinline__ void multiply(float (&d0)[4], float (&d1)[4],
                                         const std::uint32_t (&a)[4], const std::uint32_t (&b)[4]) {
    const std::uint32_t b0[2] = {b[0], b[1]};
    const std::uint32_t b1[2] = {b[2], b[3]};
    if constexpr (bf16) {
        ptx::mma_m16n8k16_bf16(d0, a, b0);
        ptx::mma_m16n8k16_bf16(d1, a, b1);
    } else {
        ptx::mma_m16n8k16_f16(d0, a, b0);
        ptx::mma_m16n8k16_f16(d1, a, b1);
    }
}

template <Tile tile, bool bf16>
struct Warp {
    static constexpr int groups = tile.row_groups();
    static constexpr int q_steps = tile.headdim / 16;
    static constexpr int slabs = tile.headdim / slab_columns;
    static constexpr int steps_per_slab = slab_columns / 16;
    Shared<tile> s;
    std::uint32_t kept_q[tile.q_registers ? q_steps : 1][groups][4];

    __device__ __forceinline__ explicit Warp(const Shared<tile>& shared) : s(shared) {}
    __device__ __forceinline__ std::uint32_t q_lane() const {
        const unsigned thread = ptx::tid_x_volatile();
        const Corner q = rows_first(thread % 32U);
        return s.q() + thread / 32U / tile.sharers * tile.warp_rows() * slab_row_bytes +
               swizzled_bytes(q.row, q.chunk, tile.rows);
    }
    /// Of a part of a block's keys.
    static __device__ __forceinline__ std::uint32_t keys_offset(unsigned part) {
        return part * tile.warp_keys() * slab_row_bytes;
    }
    static __device__ __forceinline__ std::uint32_t k_offset() {
        const Corner k = columns_first(ptx::tid_x_volatile() % 32U);
        return swizzled_bytes(k.row, k.chunk, tile.keys) + keys_offset(part_of_warp<tile>());
    }
    /// Of this warp's columns.
    static __device__ __forceinline__ std::uint32_t v_offset() {
        const Corner v = rows_first(ptx::tid_x_volatile() % 32U);
        return swizzled_bytes(v.row, v.chunk, tile.keys) +
               part_of_warp<tile>() * (tile.warp_columns() / slab_columns) * tile.keys *
                   slab_row_bytes;
    }
    __device__ __forceinline__ void load_q(std::uint32_t q, int slab, int inside,
                                           std::uint32_t (&a)[groups][4]) const {
        const std::uint32_t from = swizzled_step(q, inside) + slab * (tile.rows * slab_row_bytes);
#pragma unroll
        for (int g = 0; g < groups; ++g) {
            ptx::ldmatrix_x4(a[g], from + g * 16 * slab_row_bytes);
        }
    }
    /// Once Q is there, for tiles that keep it.
    __device__ __forceinline__ void keep_q() {
#pragma unroll
        for (int step = 0; step < q_steps; ++step) {
            load_q(q_lane(), step % slabs, step / slabs, kept_q[step]);
        }
    }

    /// score = Q·Kᵀ of the block at `k`.
    __device__ __forceinline__ void multiply_scores(std::uint32_t k, Scores<tile>& score) const {
#pragma unroll
        for (int g = 0; g < groups; ++g) {
#pragma unroll
            for (int j = 0; j < tile.warp_keys() / 8; ++j) {
#pragma unroll
                for (float& x : score[g][j]) {
                    x = 0;
                }
            }
        }
        const std::uint32_t q = q_lane();
        k += k_offset();
        // The same columns of every slab one after the other: one address serves them all.
#pragma unroll
        for (int i = 0; i < q_steps; ++i) {
            const int slab = i % slabs;
            const int inside = i / slabs;
            std::uint32_t a[groups][4];
            if constexpr (tile.q_registers == 0) {
                load_q(q, slab, inside, a);
            } else {
                memcpy(a, kept_q[i], sizeof(a));
            }
            const std::uint32_t from =
                swizzled_step(k, inside) + slab * (tile.keys * slab_row_bytes);
#pragma unroll
            for (int pair = 0; pair < tile.warp_keys() / 16; ++pair) {
                std::uint32_t b[4];
                ptx::ldmatrix_x4(b, from + pair * 16 * slab_row_bytes);
#pragma unroll
                for (int g = 0; g < groups; ++g) {
                    multiply<bf16>(score[g][2 * pair], score[g][2 * pair + 1], a[g], b);
                }
            }
        }
    }

    /// The probabilities of 16 of this warp's keys, as operands.
    static __device__ __forceinline__ void pack(const Scores<tile>& p, int step,
                                                std::uint32_t (&a)[groups][4]) {
#pragma unroll
        for (int g = 0; g < groups; ++g) {
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                const auto& from = p[g][operand_group(step, w)];
                a[g][w] = gpu::packed<bf16>(from[fragment_register(w % 2, 0)],
                                            from[fragment_register(w % 2, 1)]);
            }
        }
    }
    /// out += a times the 16 rows of V at `v`.
    static __device__ __forceinline__ void multiply_step(std::uint32_t v, int step,
                                                         const std::uint32_t (&a)[groups][4],
                                                         Outputs<tile>& out) {
#pragma unroll
        for (int pair = 0; pair < tile.warp_columns() / 16; ++pair) {
            std::uint32_t b[4];
            ptx::ldmatrix_x4_trans(
                b, swizzled_step(v, pair % steps_per_slab) +
                       (pair / steps_per_slab * tile.keys + 16 * step) * slab_row_bytes);
#pragma unroll
            for (int g = 0; g < groups; ++g) {
                multiply<bf16>(out[g][2 * pair], out[g][2 * pair + 1], a[g], b);
            }
        }
    }

    /// out += P·V of the block at `v`. Warps that share rows start with the keys that they have the
    /// probabilities of; the other's have come when these are done.
    __device__ __forceinline__ void multiply_values(std::uint32_t v, const Scores<tile>& p,
                                                    Outputs<tile>& out) const {
        constexpr int steps = tile.warp_keys() / 16;
        v += v_offset();
        const std::uint32_t own = v + keys_offset(part_of_warp<tile>());
        std::uint32_t a[groups][4];
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            pack(p, step, a);
            if constexpr (tile.sharers == 2) {
#pragma unroll
                for (int g = 0; g < groups; ++g) {
                    give_operand<tile>(s, step, g, a[g]);
                }
            }
            multiply_step(own, step, a, out);
        }
        if constexpr (tile.sharers == 2) {
            meet_other<tile>();
            const std::uint32_t others = v + keys_offset(part_of_warp<tile>() ^ 1U);
#pragma unroll
            for (int step = 0; step < steps; ++step) {
#pragma unroll
                for (int g = 0; g < groups; ++g) {
                    take_operand<tile>(s, step, g, a[g]);
                }
                multiply_step(others, step, a, out);
            }
        }
    }
};

/// Copies of one work tile's Q, K and V. What `w` says is read from shared memory each time.
template <Tile tile, bool by_hand>
struct Copies {
    const Params& p;
    const Work& w;
    Shared<tile> s;

    __device__ __forceinline__ void fetch_q() const {
        const Sequence& of = w.sequence;
        fetch<tile.headdim, tile.rows, tile.threads(), by_hand>(
            {p.args.q, of.q_token, of.q_index, w.head, p.args.headdim, of.band.length_q}, s.q(),
            w.first_row);
    }
    __device__ __forceinline__ void fetch_k(int block, int stage) const {
        const Sequence& of = w.sequence;
        fetch<tile.headdim, tile.keys, tile.threads(), by_hand>(
            {p.args.k, of.k_token, of.k_index, w.head_kv, p.args.headdim, of.band.length_k},
            s.k(stage), block * tile.keys);
    }
    __device__ __forceinline__ void fetch_v(int block, int stage) const {
        const Sequence& of = w.sequence;
        fetch<tile.headdim_v, tile.keys, tile.threads(), by_hand>(
            {p.args.v, of.k_token, of.k_index, w.head_kv, p.args.headdim_v, of.band.length_k},
            s.v(stage), block * tile.keys);
    }
};

/// This thread's copies have landed, and behind the barrier everyone's have; whatever was read
/// before it may be overwritten.
__device__ __forceinline__ void wait_for_copies() {
    ptx::cp_async_wait_group<0>();
    __syncthreads();
}

template <Tile tile>
__device__ __forceinline__ void turn_into_probabilities(const Params& p, const Work& w,
                                                        const Shared<tile>& s, int block,
                                                        Scores<tile>& score, Outputs<tile>& out,
                                                        RowState<tile>& state) {
    const WarpRows rows = warp_rows<tile>(w);
    if (p.cap_inner > 0) {
        cap_scores<tile>(p.cap_inner, score);
    }
    const std::int32_t first_key =
        block * tile.keys + static_cast<std::int32_t>(part_of_warp<tile>()) * tile.warp_keys();
    if (!rows.sees_all(first_key, tile.warp_keys())) {
        mask_scores<tile>(w.sequence.band, rows, first_key, score);
    }
    exponentiate<tile>(p.scale_log2, s, score, out, state);
}

/// `out` must be zero. Leaves in it the sum over all keys, not yet divided. With one stage, K of
/// the next block is copied under the softmax and P·V, V of this one under Q·Kᵀ; with two, both of
/// the next block under all of it, at half the barriers.
template <Tile tile, bool bf16, bool by_hand>
__device__ __forceinline__ void attend(const Params& p, const Work& w, const Shared<tile>& s,
                                       Outputs<tile>& out, RowState<tile>& state) {
    const int last = w.blocks.last - 1;
    const Copies<tile, by_hand> copies{p, w, s};
    Warp<tile, bf16> warp(s);
    copies.fetch_q();
    copies.fetch_k(last, 0);
    if constexpr (tile.stages == 2) {
        copies.fetch_v(last, 0);
    }
    ptx::cp_async_commit_group();
    int stage = 0;
#pragma unroll 1
    for (int block = last; block >= w.blocks.first; --block) {
        Scores<tile> score;
        wait_for_copies();
        if constexpr (tile.q_registers != 0) {
            if (block == last) {
                warp.keep_q();
            }
        }
        if constexpr (tile.stages == 1) {
            copies.fetch_v(block, 0);
        } else if (block > w.blocks.first) {
            copies.fetch_k(block - 1, stage ^ 1);
            copies.fetch_v(block - 1, stage ^ 1);
        }
        ptx::cp_async_commit_group();
        warp.multiply_scores(s.k(stage), score);
        if constexpr (tile.stages == 1) {
            wait_for_copies();
            if (block > w.blocks.first) {
                copies.fetch_k(block - 1, 0);
            }
            ptx::cp_async_commit_group();
        }
        turn_into_probabilities<tile>(p, w, s, block, score, out, state);
        warp.multiply_values(s.v(stage), score, out);
        stage ^= tile.stages - 1;
    }
}

}  // namespace raceline::kernels::prefill_mma

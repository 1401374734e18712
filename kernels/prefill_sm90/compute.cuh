// SPDX-License-Identifier: Apache-2.0
// A matrix warpgroup: 64 rows against the blocks of keys, last to first. While the values of one
// block are multiplied, the scores of the next become probabilities.
#pragma once

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/ptx/wgmma_descriptor.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k16.cuh"
#include "kernels/prefill_sm90/pipeline.cuh"
#include "kernels/prefill_sm90/sequence.cuh"
#include "kernels/prefill_sm90/softmax.cuh"

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
        const std::uint64_t a = q + slab * (tile.rows * slab_row_bytes / 16) + inside;
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

/// One turn at a time: a warpgroup that issues products leaves the others to their softmax. The
/// turn goes round; barrier 1 + w is warpgroup w's.
template <Tile tile>
struct Turn {
    static constexpr bool used = tile.turns != 0;
    int warpgroup;
    __device__ __forceinline__ void take() const {
        if constexpr (used) {
            ptx::bar_sync(1 + warpgroup, 256);
        }
    }
    __device__ __forceinline__ void pass() const {
        if constexpr (used) {
            ptx::bar_arrive(1 + (warpgroup + 1 == tile.warpgroups() ? 0 : warpgroup + 1), 256);
        }
    }
    /// The first turn is warpgroup 0's, given by the last.
    __device__ __forceinline__ void open() const {
        if (warpgroup == tile.warpgroups() - 1) {
            pass();
        }
    }
    /// Takes back what the last pass gave, so that no barrier is left half full.
    __device__ __forceinline__ void close() const {
        if (warpgroup == 0) {
            take();
        }
    }
};

/// Zeros for the rows of a block of V from `row` on, written by all matrix warpgroups together.
template <Tile tile>
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
    ptx::bar_sync(matrix_barrier, threads);
}

/// Says that this warp has read what the barrier guards.
__device__ __forceinline__ void release(std::uint32_t barrier) {
    if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(barrier);
    }
}

template <Tile tile, bool bf16>
struct Consumer {
    const Params& p;
    Shared<tile> s;
    int warpgroup;
    std::uint64_t q;  ///< descriptor of this warpgroup's rows
    Turn<tile> turn;
    Ring<tile.stages> k_ring, v_ring;
    std::uint32_t q_parity = 0;

    __device__ __forceinline__ Consumer(const Params& params, const Shared<tile>& shared, int wg)
        : p(params),
          s(shared),
          warpgroup(wg),
          q(ptx::wgmma_descriptor_k_major_128b(shared.q() + wg * 64 * slab_row_bytes)),
          turn{wg} {}

    __device__ __forceinline__ std::uint64_t k_descriptor() const {
        return ptx::wgmma_descriptor_k_major_128b(s.k(k_ring.stage));
    }
    __device__ __forceinline__ std::uint64_t v_descriptor() const {
        return ptx::wgmma_descriptor_mn_major_128b(s.v(v_ring.stage), tile.keys * slab_row_bytes);
    }
    __device__ __forceinline__ void release_k() {
        release(s.k_empty(k_ring.stage));
        k_ring.advance();
    }
    __device__ __forceinline__ void release_v() {
        release(s.v_empty(v_ring.stage));
        v_ring.advance();
    }

    /// `out` must be zero. Leaves in it the sum over all keys, not yet divided.
    __device__ __forceinline__ void attend(const Work& w, const WarpgroupRows& rows,
                                           float (&out)[tile.headdim_v / 2], RowState& state) {
        const Band& band = w.sequence.band;
        const Blocks blocks = w.blocks;
        float score[tile.keys / 2];
        std::uint32_t probability[tile.keys / 16][4];
        float keep[2];
        ptx::mbarrier_wait_parity(s.q_full(), q_parity);
        q_parity ^= 1;
        ptx::mbarrier_wait_parity(s.k_full(k_ring.stage), k_ring.parity);
        start_scores<tile, bf16>(score, q, k_descriptor());
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(score);
        release_k();
        int first_key = (blocks.last - 1) * tile.keys;
        if (!rows.sees_all(first_key, tile.keys)) {
            mask_scores<tile>(band, rows, first_key, score);
        }
        exponentiate<tile>(p.scale_log2, score, state, keep);
        pack_probabilities<tile, bf16>(score, probability);
        if (w.sequence.followed && band.length_k - first_key < tile.keys) {
            ptx::mbarrier_wait_parity(s.v_full(v_ring.stage), v_ring.parity);
            clear_values<tile>(s.v(v_ring.stage), band.length_k - first_key);
        }
#pragma unroll 1
        for (int block = blocks.last - 2; block >= blocks.first; --block) {
            ptx::mbarrier_wait_parity(s.k_full(k_ring.stage), k_ring.parity);
            turn.take();
            start_scores<tile, bf16>(score, q, k_descriptor());
            ptx::mbarrier_wait_parity(s.v_full(v_ring.stage), v_ring.parity);
            start_values<tile, bf16>(out, probability, v_descriptor());
            turn.pass();
            ptx::wgmma_wait_group<1>();
            ptx::pin_registers(score);
            release_k();
            first_key -= tile.keys;
            if (!rows.sees_all(first_key, tile.keys)) {
                mask_scores<tile>(band, rows, first_key, score);
            }
            exponentiate<tile>(p.scale_log2, score, state, keep);
            ptx::wgmma_wait_group<0>();
            ptx::pin_registers(out);
            release_v();
            scale_rows(out, keep);
            pack_probabilities<tile, bf16>(score, probability);
        }
        release(s.q_empty());  // the last product with Q is complete
        ptx::mbarrier_wait_parity(s.v_full(v_ring.stage), v_ring.parity);
        start_values<tile, bf16>(out, probability, v_descriptor());
        ptx::wgmma_wait_group<0>();
        ptx::pin_registers(out);
        release_v();
    }
};

}  // namespace raceline::kernels::prefill_sm90

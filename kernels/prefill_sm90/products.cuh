// SPDX-License-Identifier: Apache-2.0
// What a matrix warpgroup issues for one block, and when it may: products, turns, V's tail.
#pragma once

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/fence_proxy_async_shared.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k16.cuh"
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
}

/// Says that this warp has read what the barrier guards.
__device__ __forceinline__ void release(std::uint32_t barrier) {
    if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(barrier);
    }
}

}  // namespace raceline::kernels::prefill_sm90

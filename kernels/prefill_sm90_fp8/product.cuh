// SPDX-License-Identifier: Apache-2.0
// The two products of a matrix warpgroup with a block of keys, and the turns in which the
// warpgroups start them.
#pragma once

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/prmt_b32.cuh"
#include "gpu/ptx/wgmma_group.cuh"
#include "gpu/ptx/wgmma_k32_e4m3.cuh"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

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

template <int count>
__device__ __forceinline__ void clear(float (&x)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        x[i] = 0;
    }
}

/// clear(sum) for an item that begins with nothing pending. Where nobody transposes, the compiler
/// would pass these zeros on in uniform registers and keep what it knows of the item on the stack.
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

}  // namespace raceline::kernels::prefill_sm90_fp8

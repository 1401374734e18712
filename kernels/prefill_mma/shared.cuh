// SPDX-License-Identifier: Apache-2.0
// Places in a CTA's shared memory, and which part of a block and of the output a warp has.
#pragma once

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/bar_red_or.cuh"
#include "gpu/ptx/ld_shared_u32.cuh"
#include "gpu/ptx/ld_shared_v4_u32.cuh"
#include "gpu/ptx/special_register.cuh"
#include "gpu/ptx/st_shared_u32.cuh"
#include "gpu/ptx/st_shared_v4_u32.cuh"
#include "kernels/prefill_mma/fragment.hpp"
#include "kernels/prefill_mma/tile.hpp"

namespace raceline::kernels::prefill_mma {

/// Shared-memory addresses (cvta to shared).
template <Tile tile>
struct Shared {
    static constexpr SharedLayout layout = shared_layout(tile);
    std::uint32_t base;

    __device__ __forceinline__ std::uint32_t q() const { return base; }
    __device__ __forceinline__ std::uint32_t k(int stage) const {
        return base + layout.k + stage * tile.k_bytes();
    }
    __device__ __forceinline__ std::uint32_t v(int stage) const {
        return base + layout.v + stage * tile.v_bytes();
    }
    /// What a warp leaves for the one that shares its rows: its operands, one float a row.
    __device__ __forceinline__ std::uint32_t operands(unsigned warp) const {
        return base + layout.given + warp * warp_operand_bytes(tile);
    }
    __device__ __forceinline__ std::uint32_t rows(unsigned warp) const {
        return base + layout.given + tile.warps * warp_operand_bytes(tile) +
               warp * warp_row_bytes(tile);
    }
};

__device__ __forceinline__ unsigned this_warp() {
    return ptx::tid_x_volatile() / 32U;
}
/// Of as many parts of a block's keys and of V's columns as there are sharers, this warp's.
template <Tile tile>
__device__ __forceinline__ unsigned part_of_warp() {
    return tile.sharers == 1 ? 0 : this_warp() % tile.sharers;
}
/// Of the CTA's sets of warp_rows() rows, this warp's.
template <Tile tile>
__device__ __forceinline__ unsigned rows_of_warp() {
    return this_warp() / tile.sharers;
}

// What two warps that share rows tell each other, through shared memory and a barrier of their own.
// A barrier of the whole CTA stands between two blocks, so that what was left for the other in one
// block has been read when the next overwrites it.

inline constexpr int pair_threads = 64;

/// Barrier 0 is __syncthreads.
template <Tile tile>
__device__ __forceinline__ int pair_barrier() {
    return 1 + static_cast<int>(rows_of_warp<tile>());
}
template <Tile tile>
__device__ __forceinline__ void meet_other() {
    ptx::bar_sync(pair_barrier<tile>(), pair_threads);
}

/// Whether `mine` holds in any lane of the warps that share these rows.
template <Tile tile>
__device__ __forceinline__ bool any_of_rows(bool mine) {
    if constexpr (tile.sharers == 1) {
        return __any_sync(0xFFFFFFFFU, mine);
    } else {
        return ptx::bar_red_or(pair_barrier<tile>(), pair_threads, mine);
    }
}

/// The other warp's values of this lane's rows; all lanes of a quad have the same.
template <Tile tile>
__device__ __forceinline__ void exchange_rows(const Shared<tile>& s,
                                              const float (&mine)[tile.row_groups()][2],
                                              float (&others)[tile.row_groups()][2]) {
    const auto lane = static_cast<int>(ptx::tid_x_volatile() % 32U);
    const unsigned warp = this_warp();
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            if (lane % 4 == 0) {
                ptx::st_shared_u32(s.rows(warp) + 4 * (16 * g + fragment_row(lane, i)),
                                   __float_as_uint(mine[g][i]));
            }
        }
    }
    meet_other<tile>();
#pragma unroll
    for (int g = 0; g < tile.row_groups(); ++g) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            others[g][i] = __uint_as_float(
                ptx::ld_shared_u32(s.rows(warp ^ 1U) + 4 * (16 * g + fragment_row(lane, i))));
        }
    }
}

/// Operands go from a lane to the same lane of the other warp: both hold the same rows. Chunks of
/// 16 bytes, a warp's side by side.
template <Tile tile>
__device__ __forceinline__ std::uint32_t operand_address(const Shared<tile>& s, unsigned warp,
                                                         int step, int group) {
    return s.operands(warp) + (step * tile.row_groups() + group) * 512 +
           ptx::tid_x_volatile() % 32U * 16;
}
template <Tile tile>
__device__ __forceinline__ void give_operand(const Shared<tile>& s, int step, int group,
                                             const std::uint32_t (&a)[4]) {
    ptx::st_shared_v4_u32(operand_address(s, this_warp(), step, group),
                          make_uint4(a[0], a[1], a[2], a[3]));
}
template <Tile tile>
__device__ __forceinline__ void take_operand(const Shared<tile>& s, int step, int group,
                                             std::uint32_t (&a)[4]) {
    const uint4 x = ptx::ld_shared_v4_u32(operand_address(s, this_warp() ^ 1U, step, group));
    a[0] = x.x;
    a[1] = x.y;
    a[2] = x.z;
    a[3] = x.w;
}

}  // namespace raceline::kernels::prefill_mma

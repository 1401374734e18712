// SPDX-License-Identifier: Apache-2.0
// Places in a CTA's shared memory, and which part of a block and of the output a warp has.
#pragma once

#include "gpu/ptx/tid_x_volatile.cuh"
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

}  // namespace raceline::kernels::prefill_mma

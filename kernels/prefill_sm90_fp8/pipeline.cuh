// SPDX-License-Identifier: Apache-2.0
// Shared memory of a CTA and the barriers that move it: K and Q from the copying warp to the matrix
// warpgroups, V to the transposing warps and from them to the matrix warpgroups, and back; V that
// comes transposed goes the way of K.
#pragma once

#include <cstdint>

#include "gpu/ptx/mbarrier.cuh"
#include "kernels/prefill_sm90_fp8/fragment.hpp"
#include "kernels/prefill_sm90_fp8/tile.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Shared-memory addresses (cvta to shared). Named barriers: 0 is the CTA's, 1 to 3 are the turns
/// of the matrix warpgroups.
template <Tile tile>
struct Shared {
    static constexpr SharedLayout layout = shared_layout(tile);
    static constexpr int first = 2 * tile.rings() * tile.stages;  ///< barrier behind the rings'
    std::uint32_t base;

    /// The 64 rows of Q that are a warpgroup's.
    __device__ __forceinline__ std::uint32_t q(int slot, int warpgroup) const {
        return base + slot * tile.q_bytes() + warpgroup * (64 * tile.headdim);
    }
    __device__ __forceinline__ std::uint32_t k(int stage) const {
        return base + layout.k + stage * tile.block_bytes();
    }
    __device__ __forceinline__ std::uint32_t v(int stage) const {
        return base + layout.v + stage * tile.block_bytes();
    }
    /// V transposed: a row is a column of V, its bytes are keys (fragment.hpp).
    __device__ __forceinline__ std::uint32_t t(int stage) const {
        return base + layout.t + stage * tile.block_bytes();
    }
    /// "full": the copies, or the transposition, are there. "empty": everybody has read.
    __device__ __forceinline__ std::uint32_t k_full(int stage) const { return barrier(stage); }
    __device__ __forceinline__ std::uint32_t k_empty(int stage) const {
        return barrier(tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t t_full(int stage) const {
        return barrier(2 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t t_empty(int stage) const {
        return barrier(3 * tile.stages + stage);
    }
    /// Only of a tile that transposes V itself.
    __device__ __forceinline__ std::uint32_t v_full(int stage) const {
        return barrier(4 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t v_empty(int stage) const {
        return barrier(5 * tile.stages + stage);
    }
    /// Every warpgroup's rows for themselves: one that is ahead gets its next ones without waiting
    /// for the others.
    __device__ __forceinline__ std::uint32_t q_full(int slot, int warpgroup) const {
        return barrier(first + slot * tile.warpgroups() + warpgroup);
    }
    __device__ __forceinline__ std::uint32_t q_empty(int slot, int warpgroup) const {
        return barrier(first + (layout.q_slots + slot) * tile.warpgroups() + warpgroup);
    }
    /// An announcement of an item, for all others to work on next.
    __device__ __forceinline__ std::uint32_t announced(int slot) const {
        return base + layout.announced + slot * announcement_bytes(tile.warpgroups());
    }
    __device__ __forceinline__ std::uint32_t item_full(int slot) const {
        return barrier(first + 2 * layout.q_slots * tile.warpgroups() + slot);
    }
    __device__ __forceinline__ std::uint32_t item_empty(int slot) const {
        return barrier(first + 2 * layout.q_slots * tile.warpgroups() + announced_items + slot);
    }
    __device__ __forceinline__ std::uint32_t barrier(int index) const {
        return base + layout.barriers + 8 * index;
    }
};

template <Tile tile>
__device__ __forceinline__ void init_barriers(const Shared<tile>& s) {
    // Every warp says for itself that it has read: its wait covers its own work only.
    constexpr std::uint32_t readers = 4 * tile.warpgroups();
    for (int slot = 0; slot < Shared<tile>::layout.q_slots; ++slot) {
        for (int warpgroup = 0; warpgroup < tile.warpgroups(); ++warpgroup) {
            ptx::mbarrier_init(s.q_full(slot, warpgroup), 1);
            ptx::mbarrier_init(s.q_empty(slot, warpgroup), 4);
        }
    }
    for (int stage = 0; stage < tile.stages; ++stage) {
        ptx::mbarrier_init(s.k_full(stage), 1);
        ptx::mbarrier_init(s.k_empty(stage), readers);
        ptx::mbarrier_init(s.t_full(stage), tile.prepared != 0 ? 1 : transposers);
        ptx::mbarrier_init(s.t_empty(stage), readers);
        if constexpr (tile.prepared == 0) {
            ptx::mbarrier_init(s.v_full(stage), 1);
            ptx::mbarrier_init(s.v_empty(stage), transposers);
        }
    }
    for (int slot = 0; slot < announced_items; ++slot) {
        ptx::mbarrier_init(s.item_full(slot), tile.warpgroups());
        ptx::mbarrier_init(s.item_empty(slot), readers + (tile.prepared != 0 ? 0 : transposers));
    }
    ptx::fence_mbarrier_init();
}

/// Says that this warp is done with what the barrier guards. Its other lanes' accesses must stand
/// before a convergence of the warp (__syncwarp, a product's wait).
__device__ __forceinline__ void release(std::uint32_t barrier) {
    if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(barrier);
    }
}

/// Position in a ring of stages. A full barrier's n-th phase has parity n % 2; a producer waits for
/// the phase before, so that its first round through the ring finds every stage empty.
template <int stages>
struct Ring {
    // One register for both. With a power of two it counts; else it is the stage, and 256 in every
    // other round.
    static constexpr bool counts = (stages & (stages - 1)) == 0;
    std::uint32_t at = 0;
    [[nodiscard]] __device__ __forceinline__ int stage() const {
        return static_cast<int>(counts ? at % stages : at % 256);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t parity() const {
        return counts ? at / stages % 2 : at / 256;
    }
    __device__ __forceinline__ void advance() {
        ++at;
        if (!counts && at % 256 == stages) {
            at = (at ^ 256) - stages;
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90_fp8

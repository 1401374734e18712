// SPDX-License-Identifier: Apache-2.0
// Shared memory of a CTA and the barriers that move it from the producer to the matrix warpgroups
// and back. V of 8 bits that does not come transposed goes by way of the transposing warps.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/prefill_sm90/descriptor.cuh"
#include "kernels/prefill_sm90/fragment.hpp"
#include "kernels/prefill_sm90/ring.cuh"
#include "kernels/prefill_sm90/tile.hpp"

namespace raceline::kernels::hopper {

/// Shared-memory addresses (cvta to shared). Named barriers: 0 is the CTA's, those from 1 on are
/// the turns of the matrix warpgroups.
template <auto tile>
struct Shared {
    static constexpr SharedLayout layout = shared_layout(tile);
    static constexpr int slots = tile.descriptor_slots;
    static constexpr bool transposes = tile.raw_v_bytes() > 0;
    /// Barriers before those of Q, of descriptors and behind them.
    static constexpr int before_q = (transposes ? 6 : 4) * tile.stages;
    static constexpr int before_descriptors = before_q + 2 * layout.q_stages;
    static constexpr int before_cleared = before_descriptors + 2 * slots;
    std::uint32_t base;

    /// 64 rows of Q, slabs of columns one behind the other.
    __device__ __forceinline__ std::uint32_t q(int stage) const {
        return base + stage * tile.q_stage_bytes();
    }
    /// Of a slot for a whole work tile's Q, the warpgroup's rows.
    __device__ __forceinline__ std::uint32_t q(int slot, int warpgroup) const {
        return base + slot * tile.q_bytes() + warpgroup * tile.q_stage_bytes();
    }
    __device__ __forceinline__ std::uint32_t q_full(int slot, int warpgroup) const {
        return barrier(before_q + slot * tile.warpgroups() + warpgroup);
    }
    __device__ __forceinline__ std::uint32_t q_empty(int slot, int warpgroup) const {
        return barrier(before_q + (layout.q_stages / tile.warpgroups() + slot) * tile.warpgroups() +
                       warpgroup);
    }
    /// A warpgroup's outputs, in the same form.
    __device__ __forceinline__ std::uint32_t out(int warpgroup) const {
        return base + layout.out + warpgroup * tile.out_buffer_bytes();
    }
    __device__ __forceinline__ std::uint32_t k(int stage) const {
        return base + layout.k + stage * tile.k_bytes();
    }
    /// V as products take it. In 8 bits it is transposed: a row is a column of V, its bytes are
    /// keys (fragment.hpp).
    __device__ __forceinline__ std::uint32_t v(int stage) const {
        return base + layout.v + stage * tile.v_bytes();
    }
    /// V as it comes, of a tile that transposes it.
    __device__ __forceinline__ std::uint32_t raw_v(int stage) const {
        return base + layout.raw_v + stage * tile.raw_v_bytes();
    }
    /// "full": the copies have landed, or the transposition is there. "empty": everybody has read.
    __device__ __forceinline__ std::uint32_t k_full(int stage) const { return barrier(stage); }
    __device__ __forceinline__ std::uint32_t k_empty(int stage) const {
        return barrier(tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t v_full(int stage) const {
        return barrier(2 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t v_empty(int stage) const {
        return barrier(3 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t raw_v_full(int stage) const {
        return barrier(4 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t raw_v_empty(int stage) const {
        return barrier(5 * tile.stages + stage);
    }
    /// Every warpgroup's rows for themselves: one that is ahead gets its next ones without waiting
    /// for the others.
    __device__ __forceinline__ std::uint32_t q_full(int stage) const {
        return barrier(before_q + stage);
    }
    __device__ __forceinline__ std::uint32_t q_empty(int stage) const {
        return barrier(before_q + layout.q_stages + stage);
    }
    /// A descriptor of a work tile, for all others to work on next.
    __device__ __forceinline__ std::uint32_t descriptor(int slot) const {
        return base + layout.descriptors + slot * descriptor_bytes(tile);
    }
    __device__ __forceinline__ std::uint32_t descriptor_full(int slot) const {
        return barrier(before_descriptors + slot);
    }
    __device__ __forceinline__ std::uint32_t descriptor_empty(int slot) const {
        return barrier(before_descriptors + slots + slot);
    }
    /// All matrix warps have cleared their part of V's tail.
    __device__ __forceinline__ std::uint32_t cleared() const { return barrier(before_cleared); }
    /// "full": the warpgroup has written its outputs. "empty": they are on their way.
    __device__ __forceinline__ std::uint32_t out_full(int warpgroup) const {
        return barrier(before_cleared + 1 + warpgroup);
    }
    __device__ __forceinline__ std::uint32_t out_empty(int warpgroup) const {
        return out_full(warpgroup) + 8 * tile.warpgroups();
    }
    __device__ __forceinline__ std::uint32_t barrier(int index) const {
        return base + layout.barriers + 8 * index;
    }
};

/// Of the running CTA, in the dynamic shared memory that the launch gave it.
__device__ __forceinline__ std::uint32_t start_of_shared() {
    extern __shared__ char dynamic_shared[];
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(dynamic_shared));
    return (start + 1023U) & ~1023U;
}

/// By the CTA's first thread. `v_writers`: arrivals that make a stage of V full.
/// `descriptor_readers`: warps that read descriptors beside the matrix warps.
template <auto tile>
__device__ __forceinline__ void init_barriers(const Shared<tile>& s, std::uint32_t v_writers,
                                              std::uint32_t descriptor_readers) {
    // Every matrix warp says for itself that it has read: its wait covers its own products only.
    constexpr std::uint32_t readers = 4 * tile.warpgroups();
    for (int stage = 0; stage < Shared<tile>::layout.q_stages; ++stage) {
        ptx::mbarrier_init(s.q_full(stage), 1);
        ptx::mbarrier_init(s.q_empty(stage), 4);
    }
    for (int stage = 0; stage < tile.stages; ++stage) {
        ptx::mbarrier_init(s.k_full(stage), 1);
        ptx::mbarrier_init(s.k_empty(stage), readers);
        ptx::mbarrier_init(s.v_full(stage), v_writers);
        ptx::mbarrier_init(s.v_empty(stage), readers);
        if constexpr (Shared<tile>::transposes) {
            ptx::mbarrier_init(s.raw_v_full(stage), 1);
            ptx::mbarrier_init(s.raw_v_empty(stage), v_writers);
        }
    }
    for (int slot = 0; slot < tile.descriptor_slots; ++slot) {
        ptx::mbarrier_init(s.descriptor_full(slot), tile.warpgroups());
        ptx::mbarrier_init(s.descriptor_empty(slot), readers + descriptor_readers);
    }
    if constexpr (!tile.eight_bits) {
        ptx::mbarrier_init(s.cleared(), readers);
    }
    for (int warpgroup = 0; warpgroup < Shared<tile>::layout.out_buffers; ++warpgroup) {
        ptx::mbarrier_init(s.out_full(warpgroup), 4);
        ptx::mbarrier_init(s.out_empty(warpgroup), 1);
    }
    ptx::fence_mbarrier_init();
}

/// The same, and the whole CTA waits for it.
template <auto tile>
__device__ __forceinline__ void open_barriers(const Shared<tile>& s, std::uint32_t v_writers,
                                              std::uint32_t descriptor_readers) {
    if (threadIdx.x == 0) {
        init_barriers(s, v_writers, descriptor_readers);
    }
    __syncthreads();
}

/// What a warpgroup keeps of a work tile from block to block; in 8 bits also what a raw product of
/// Q and K is multiplied by.
struct ScaledView : schedule::TileView {
    float scale_log2;
};
template <auto tile>
using TileView = std::conditional_t<tile.eight_bits, ScaledView, schedule::TileView>;

/// The slot that is empty once the work tile before `next` has been taken up: what was described
/// two work tiles before that one is done with, down to the stores.
template <int slots>
__device__ __forceinline__ int slot_done_with(Ring<slots> next) {
    if constexpr (slots > 3) {
        next.advance();
    }
    return next.stage();
}

/// Where there is no work tile's slot.
inline constexpr int no_slot = -1;

}  // namespace raceline::kernels::hopper

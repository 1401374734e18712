// SPDX-License-Identifier: Apache-2.0
// Shared memory of a CTA and the barriers that move it from the producer to the matrix warpgroups
// and back.
#pragma once

#include <cstdint>

#include "gpu/ptx/mbarrier.cuh"
#include "kernels/prefill_sm90/fragment.hpp"
#include "kernels/prefill_sm90/tile.hpp"

namespace raceline::kernels::prefill_sm90 {

/// Shared-memory addresses (cvta to shared).
template <Tile tile>
struct Shared {
    static constexpr SharedLayout layout = shared_layout(tile);
    std::uint32_t base;

    /// 64 rows of Q, slabs of 64 columns one behind the other.
    __device__ __forceinline__ std::uint32_t q(int piece) const {
        return base + piece * tile.q_piece_bytes();
    }
    /// A warpgroup's outputs, in the same form.
    __device__ __forceinline__ std::uint32_t out(int warpgroup) const {
        return base + layout.out + warpgroup * tile.out_piece_bytes();
    }
    __device__ __forceinline__ std::uint32_t k(int stage) const {
        return base + layout.k + stage * tile.k_bytes();
    }
    __device__ __forceinline__ std::uint32_t v(int stage) const {
        return base + layout.v + stage * tile.v_bytes();
    }
    /// "full": the copies have landed. "empty": the matrix warpgroups have read.
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
    /// Every warpgroup's rows for themselves: one that is ahead gets its next ones without waiting
    /// for the others.
    __device__ __forceinline__ std::uint32_t q_full(int piece) const {
        return barrier(4 * tile.stages + piece);
    }
    __device__ __forceinline__ std::uint32_t q_empty(int piece) const {
        return barrier(4 * tile.stages + layout.q_pieces + piece);
    }
    /// An announcement of an item, for all others to work on next.
    __device__ __forceinline__ std::uint32_t announced(int slot) const {
        return base + layout.announced + slot * announcement_bytes(tile.warpgroups());
    }
    __device__ __forceinline__ std::uint32_t item_full(int slot) const {
        return barrier(4 * tile.stages + 2 * layout.q_pieces + slot);
    }
    __device__ __forceinline__ std::uint32_t item_empty(int slot) const {
        return barrier(4 * tile.stages + 2 * layout.q_pieces + announced_items + slot);
    }
    /// All matrix warps have cleared their part of V's tail.
    __device__ __forceinline__ std::uint32_t cleared() const {
        return barrier(4 * tile.stages + 2 * layout.q_pieces + 2 * announced_items);
    }
    /// "full": the warpgroup has written its outputs. "empty": they are on their way.
    __device__ __forceinline__ std::uint32_t out_full(int warpgroup) const {
        return barrier(4 * tile.stages + 2 * layout.q_pieces + 2 * announced_items + 1 + warpgroup);
    }
    __device__ __forceinline__ std::uint32_t out_empty(int warpgroup) const {
        return out_full(warpgroup) + 8 * tile.warpgroups();
    }
    __device__ __forceinline__ std::uint32_t barrier(int index) const {
        return base + layout.barriers + 8 * index;
    }
};

template <Tile tile>
__device__ __forceinline__ void init_barriers(const Shared<tile>& s) {
    // Every matrix warp says for itself that it has read: its wait covers its own products only.
    constexpr std::uint32_t readers = 4 * tile.warpgroups();
    constexpr std::uint32_t storers = stores_boxes(tile) ? 2 : 0;
    for (int piece = 0; piece < Shared<tile>::layout.q_pieces; ++piece) {
        ptx::mbarrier_init(s.q_full(piece), 1);
        ptx::mbarrier_init(s.q_empty(piece), 4);
    }
    for (int stage = 0; stage < tile.stages; ++stage) {
        ptx::mbarrier_init(s.k_full(stage), 1);
        ptx::mbarrier_init(s.k_empty(stage), readers);
        ptx::mbarrier_init(s.v_full(stage), 1);
        ptx::mbarrier_init(s.v_empty(stage), readers);
    }
    for (int slot = 0; slot < announced_items; ++slot) {
        ptx::mbarrier_init(s.item_full(slot), tile.warpgroups());
        ptx::mbarrier_init(s.item_empty(slot), readers + 1 + storers);  // and who copies
    }
    ptx::mbarrier_init(s.cleared(), readers);
    for (int warpgroup = 0; warpgroup < Shared<tile>::layout.out_pieces; ++warpgroup) {
        ptx::mbarrier_init(s.out_full(warpgroup), 4);
        ptx::mbarrier_init(s.out_empty(warpgroup), 1);
    }
    ptx::fence_mbarrier_init();
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

/// Position in the ring of Q's pieces, which items fill warpgroup by warpgroup: the producer goes
/// on by one, warpgroup w starts at piece w and goes on by their number. Parities as in Ring, and
/// one register for both.
template <int pieces>
struct PieceRing {
    std::uint32_t at;
    [[nodiscard]] __device__ __forceinline__ int piece() const {
        return static_cast<int>(at % 256);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t parity() const { return at / 256; }
    __device__ __forceinline__ void advance(int by) {
        at += static_cast<std::uint32_t>(by);
        if (at % 256 >= pieces) {
            at = (at ^ 256) - pieces;
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90

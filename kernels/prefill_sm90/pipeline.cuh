// SPDX-License-Identifier: Apache-2.0
// Shared memory of a CTA and the barriers that move it from the producer to the matrix warpgroups
// and back.
#pragma once

#include <cstdint>

#include "gpu/ptx/mbarrier.cuh"
#include "kernels/prefill_sm90/fragment.hpp"
#include "kernels/prefill_sm90/tile.hpp"

namespace raceline::kernels::prefill_sm90 {

/// Named barriers. 0 is the CTA's, 1 to 3 are the turns of the matrix warpgroups.
inline constexpr int matrix_barrier = 4;    ///< all matrix warpgroups
inline constexpr int producer_barrier = 5;  ///< the producer's

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
    /// "full": the copies have landed. "empty": the matrix warpgroups have read.
    __device__ __forceinline__ std::uint32_t q_full() const { return barrier(0); }
    __device__ __forceinline__ std::uint32_t q_empty() const { return barrier(1); }
    __device__ __forceinline__ std::uint32_t k_full(int stage) const { return barrier(2 + stage); }
    __device__ __forceinline__ std::uint32_t k_empty(int stage) const {
        return barrier(2 + tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t v_full(int stage) const {
        return barrier(2 + 2 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t v_empty(int stage) const {
        return barrier(2 + 3 * tile.stages + stage);
    }
    __device__ __forceinline__ std::uint32_t barrier(int index) const {
        return base + layout.barriers + 8 * index;
    }
};

template <Tile tile>
__device__ __forceinline__ void init_barriers(const Shared<tile>& s) {
    // Every matrix warp says for itself that it has read: its wait covers its own products only.
    constexpr std::uint32_t readers = 4 * tile.warpgroups();
    ptx::mbarrier_init(s.q_full(), 1);
    ptx::mbarrier_init(s.q_empty(), readers);
    for (int stage = 0; stage < tile.stages; ++stage) {
        ptx::mbarrier_init(s.k_full(stage), 1);
        ptx::mbarrier_init(s.k_empty(stage), readers);
        ptx::mbarrier_init(s.v_full(stage), 1);
        ptx::mbarrier_init(s.v_empty(stage), readers);
    }
    ptx::fence_mbarrier_init();
}

/// Position in a ring of stages. A full barrier's n-th phase has parity n % 2; a producer waits for
/// the phase before, so that its first round through the ring finds every stage empty.
template <int stages>
struct Ring {
    int stage = 0;
    std::uint32_t parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

}  // namespace raceline::kernels::prefill_sm90

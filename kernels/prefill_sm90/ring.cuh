// SPDX-License-Identifier: Apache-2.0
// How stages and turns go round among the warps of a CTA.
#pragma once

#include <cstdint>

#include "gpu/ptx/bar.cuh"
#include "gpu/ptx/mbarrier.cuh"

namespace raceline::kernels::hopper {

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

/// Position in the ring of Q's stages, which work tiles fill warpgroup by warpgroup: the producer
/// goes on by one, warpgroup w starts at stage w and goes on by their number. Parities as in Ring,
/// and one register for both.
template <int stages>
struct StageRing {
    std::uint32_t at;
    [[nodiscard]] __device__ __forceinline__ int stage() const {
        return static_cast<int>(at % 256);
    }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t parity() const { return at / 256; }
    __device__ __forceinline__ void advance(int by) {
        at += static_cast<std::uint32_t>(by);
        if (at % 256 >= stages) {
            at = (at ^ 256) - stages;
        }
    }
};

/// Says that this warp is done with what the barrier guards. Its other lanes' accesses must stand
/// before a convergence of the warp (__syncwarp, a product's wait).
__device__ __forceinline__ void release(std::uint32_t barrier) {
    if (threadIdx.x % 32 == 0) {
        ptx::mbarrier_arrive(barrier);
    }
}

/// One turn at a time: a warpgroup that issues products leaves the others to their softmax. The
/// turn goes round; barrier 1 + w is warpgroup w's.
template <auto tile>
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

}  // namespace raceline::kernels::hopper

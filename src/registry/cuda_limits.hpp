// SPDX-License-Identifier: Apache-2.0
// Limits of NVIDIA's GPUs that tiles and grids of several engines are cut to, for host and device
// (CUDA C++ Programming Guide, compute capabilities).
#pragma once

#include <cstdint>

namespace raceline {

/// CTAs in a grid's first dimension.
inline constexpr std::int64_t most_ctas = (std::int64_t{1} << 31) - 1;
/// Shared memory of a CTA on Hopper.
inline constexpr int most_smem_bytes = 232448;

/// Registers of a thread where so many threads are to fit on an SM: a launch bound holds them down
/// to that.
constexpr int registers_beside(int resident_threads) {
    constexpr int of_sm = 65536, granule = 8;
    return of_sm / resident_threads / granule * granule;
}

}  // namespace raceline

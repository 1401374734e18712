// SPDX-License-Identifier: Apache-2.0
// The tuning space of adam_cuda.
#pragma once

#include <array>
#include <cstdint>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"
#include "support/rounding.hpp"

namespace raceline::kernels::adam_cuda {

struct Tile {
    std::int32_t threads;  ///< of a CTA

    static constexpr std::array<TileField, 1> fields{"threads"};
};
inline constexpr std::array tile_list{Tile{256}, Tile{128}};

/// Neighbouring parameters that a thread takes at a time, and how many times: 16 bytes of fp32, 8
/// of 16-bit values.
inline constexpr int unit = 4, units = 2;
inline constexpr int per_thread = unit * units;
/// Threads that an SM has room for: what holds the registers of a thread down.
inline constexpr int resident_threads = 1024;
inline constexpr int registers = registers_beside(resident_threads);

constexpr std::int64_t ctas_of(std::int64_t parameters, const Tile& tile) {
    const std::int64_t together = std::int64_t{tile.threads} * per_thread;
    return divide_up(parameters, together);
}

}  // namespace raceline::kernels::adam_cuda

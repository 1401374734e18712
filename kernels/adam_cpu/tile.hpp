// SPDX-License-Identifier: Apache-2.0
// The tuning space of adam_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::adam_cpu {

struct Tile {
    std::int32_t block;   ///< parameters that are held at a time
    std::int32_t stream;  ///< 1: results go past the caches, straight to memory

    static constexpr std::array<TileField, 2> fields{"block", "stream"};
};
inline constexpr std::array tile_list{Tile{1024, 1}, Tile{1024, 0}};

inline constexpr std::int64_t parameters_of_task = 65536;
/// Buffers of a block in fp32: four inputs, and one to pack results in.
inline constexpr std::size_t buffers = 5;

}  // namespace raceline::kernels::adam_cpu

// SPDX-License-Identifier: Apache-2.0
// The tuning space of rows_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::rows_cpu {

struct Tile {
    std::int32_t stream;  ///< 1: results go past the caches, straight to memory

    static constexpr std::array<TileField, 1> fields{"stream"};
};
inline constexpr std::array tile_list{Tile{1}, Tile{0}};

/// Elements of a task: enough that handing it out costs nothing, few enough that the last tasks of
/// a launch end together.
inline constexpr std::int64_t elements_of_task = 65536;

}  // namespace raceline::kernels::rows_cpu

// SPDX-License-Identifier: Apache-2.0
// The tuning space of adam_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::adam_cpu {

struct Tile {
    std::int32_t stream;  ///< 1: results go past the caches, straight to memory

    static constexpr std::array<TileField, 1> fields{"stream"};
};
inline constexpr std::array tile_list{Tile{1}, Tile{0}};

inline constexpr std::int64_t parameters_of_task = 65536;

}  // namespace raceline::kernels::adam_cpu

// SPDX-License-Identifier: Apache-2.0
// The tuning space of embedding_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::embedding_cpu {

struct Tile {
    std::int32_t rows;    ///< of a task
    std::int32_t stream;  ///< 1: rows go past the caches, straight to memory

    static constexpr std::array<TileField, 2> fields{"rows", "stream"};
};
inline constexpr std::array tile_list{Tile{16, 1}, Tile{16, 0}};

}  // namespace raceline::kernels::embedding_cpu

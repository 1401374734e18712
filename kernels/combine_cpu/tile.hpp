// SPDX-License-Identifier: Apache-2.0
// The tuning space of combine_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::combine_cpu {

struct Tile {
    std::int32_t rows;  ///< of a task

    static constexpr std::array<TileField, 1> fields{"rows"};
};
inline constexpr std::array tile_list{Tile{64}};

}  // namespace raceline::kernels::combine_cpu

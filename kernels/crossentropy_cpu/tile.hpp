// SPDX-License-Identifier: Apache-2.0
// The tuning space of crossentropy_cpu.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::crossentropy_cpu {

struct Tile {
    std::int32_t block;  ///< logits that are looked at twice: for their maximum, for their sum

    static constexpr std::array<TileField, 1> fields{"block"};
};
inline constexpr std::array tile_list{Tile{1024}};
inline constexpr std::int64_t longest_block = 1024;

}  // namespace raceline::kernels::crossentropy_cpu

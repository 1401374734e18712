// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::naive {

struct Tile {
    std::int32_t threads;  ///< of a CTA, in all three launches

    static constexpr std::array<TileField, 1> fields{"threads"};
};

inline constexpr std::array<Tile, 2> tiles{{{128}, {256}}};

}  // namespace raceline::kernels::naive

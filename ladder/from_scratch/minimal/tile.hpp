// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::minimal {

struct Tile {
    std::int32_t threads;  ///< of a CTA, which has one query row

    static constexpr std::array<TileField, 1> fields{"threads"};
};

inline constexpr std::array<Tile, 2> tiles{{{128}, {256}}};

/// Dynamic shared memory of a CTA in bytes: the query and a score for every key, in floats, up to a
/// whole 16 bytes. The compiler reads scores four at a time, also where fewer are left.
constexpr std::int64_t shared_bytes(std::int64_t headdim, std::int64_t keys) {
    return (4 * (headdim + keys) + 15) / 16 * 16;
}

}  // namespace raceline::kernels::minimal

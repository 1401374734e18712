// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::cpu_flash {

struct Tile {
    std::int32_t rows;  ///< query rows × group heads of one task: how often a K/V block is reused
    std::int32_t keys;  ///< keys of a block: with its scores it has to stay in the private caches

    static constexpr std::array<TileField, 2> fields{"rows", "keys"};
    bool operator==(const Tile&) const = default;
};

// Rows in multiples of the widest panel (64); keys in multiples of 32, which a tile of bf16 takes
// at once, and of 12, the height of most register tiles.
inline constexpr Tile kTileOfAmx{512, 192};  // offered to products of AMX tiles alone
inline constexpr std::array<Tile, 7> kTiles{{
    {256, 96},
    {128, 96},
    {64, 96},
    {256, 192},
    {128, 192},
    {512, 96},
    kTileOfAmx,
}};
// 64 keys or more, or a block's values would not fit where they stand transposed (scratch.hpp).
static_assert([] {
    for (const Tile& t : kTiles) {
        if (t.rows % 64 != 0 || t.keys % 12 != 0 || t.keys % 32 != 0 || t.keys < 64) {
            return false;
        }
    }
    return true;
}());

}  // namespace raceline::kernels::cpu_flash

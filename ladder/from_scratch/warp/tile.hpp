// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "ladder/from_scratch/rows.hpp"

namespace raceline::kernels::warp {

using namespace from_scratch;

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA
    std::int32_t wide;  ///< 1: a load from global memory has sixteen bytes; 0: one element

    static constexpr std::array<TileField, 2> fields{"rows", "wide"};
};

inline constexpr std::array<Tile, 4> tiles{{{16, 1}, {32, 1}, {16, 0}, {32, 0}}};

/// Shared memory of a CTA. Lanes read 16 bytes of 32 rows of K, and of a few rows of P: four floats
/// of padding put neighbouring rows into different banks.
template <int rows, int headdim>
struct Shared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
    alignas(16) float v[tile_keys][headdim];
    alignas(16) float p[rows][tile_keys + 4];
    float rescale[rows];  // what came before to the maximum of now
};

}  // namespace raceline::kernels::warp

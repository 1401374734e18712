// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::light_barriers {

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"rows", &Tile::rows}}};
    }
};

inline constexpr std::array<Tile, 2> tiles{{{16}, {32}}};

inline constexpr int threads = 128;
inline constexpr int tile_keys = 32;  // of a staged K or V: a lane each

/// Shared memory of a CTA: two buffers of K and V, one being read while the other is written. Lanes
/// read 16 bytes of 32 rows of K, and of two rows of P: four floats of padding put neighbouring
/// rows into different banks.
template <int rows, int headdim>
struct Shared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[2][tile_keys][headdim + 4];
    alignas(16) float v[2][tile_keys][headdim];
    alignas(16) float p[rows][tile_keys + 4];
};

/// Its size, for the host.
constexpr std::int64_t shared_bytes(std::int64_t rows, std::int64_t headdim) {
    return 4 * (rows * headdim + (2 * headdim + 4) * 2 * tile_keys + rows * (tile_keys + 4));
}

}  // namespace raceline::kernels::light_barriers

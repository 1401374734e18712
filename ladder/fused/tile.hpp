// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::fused {

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA, a warp each: what shares a staged K or V

    [[nodiscard]] constexpr std::int32_t threads() const { return rows * 32; }
    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"rows", &Tile::rows}}};
    }
};

inline constexpr std::array<Tile, 3> tiles{{{8}, {16}, {32}}};

inline constexpr int tile_keys = 32;  // of a staged K or V: a lane each

/// Shared memory of a CTA. Lanes read 16 bytes of 32 rows of K: four floats of padding put the rows
/// of a quarter-warp into different banks. They read neighbouring columns of V; of Q and P all
/// lanes of a warp read the same.
template <int rows, int headdim>
struct Shared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
    alignas(16) float p[rows][tile_keys];
    alignas(16) float v[tile_keys][headdim];
};

/// Its size, for the host.
constexpr std::int64_t shared_bytes(std::int64_t rows, std::int64_t headdim) {
    return 4 *
           (rows * headdim + tile_keys * (headdim + 4) + rows * tile_keys + tile_keys * headdim);
}

}  // namespace raceline::kernels::fused

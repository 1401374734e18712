// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::block {

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA

    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"rows", &Tile::rows}}};
    }
};

inline constexpr std::array<Tile, 2> tiles{{{16}, {32}}};

inline constexpr int threads = 128;
inline constexpr int tile_keys = 32;  // of a staged K or V: a lane each

/// Shared memory of a CTA. Lanes read one element of 32 rows of K, or of S for the maxima and sums:
/// a float of padding puts the rows into different banks.
template <int rows, int headdim>
struct Shared {
    float q[rows][headdim];
    float k[tile_keys][headdim + 1];
    float v[tile_keys][headdim];
    float s[rows][tile_keys + 1];
    float highest[rows], sum[rows];  // of the row so far
    float rescale[rows];             // what came before to the maximum of now
};

/// Its size, for the host.
constexpr std::int64_t shared_bytes(std::int64_t rows, std::int64_t headdim) {
    return 4 * (rows * headdim + tile_keys * (2 * headdim + 1) + rows * (tile_keys + 1 + 3));
}

}  // namespace raceline::kernels::block

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::online {

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA, a warp each: what shares a staged K or V

    [[nodiscard]] constexpr std::int32_t threads() const { return rows * 32; }
    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"rows", &Tile::rows}}};
    }
};

inline constexpr std::array<Tile, 3> tiles{{{8}, {16}, {32}}};

inline constexpr int tile_keys = 32;  // of a staged K or V: a lane each

/// All that crosses global memory between the two launches, for each row: in place of S.
struct RowTotals {
    float highest;  ///< score
    float sum;      ///< of exponentials of the others, taken from it
};

/// Shared memory of a CTA of the launch `totals`. Lanes read 16 bytes of 32 rows of K: four floats
/// of padding put the rows of a quarter-warp into different banks. Of Q all lanes read the same.
template <int rows, int headdim>
struct TotalsShared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
};

/// Of the launch `outputs`. Lanes read neighbouring columns of V and the same probability.
template <int rows, int headdim>
struct OutputsShared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
    alignas(16) float p[rows][tile_keys];
    alignas(16) float v[tile_keys][headdim];
};

/// Their sizes, for the host.
constexpr std::int64_t totals_bytes(std::int64_t rows, std::int64_t headdim) {
    return 4 * (rows * headdim + tile_keys * (headdim + 4));
}
constexpr std::int64_t outputs_bytes(std::int64_t rows, std::int64_t headdim) {
    return totals_bytes(rows, headdim) + 4 * (rows * tile_keys + tile_keys * headdim);
}

}  // namespace raceline::kernels::online

// SPDX-License-Identifier: Apache-2.0
// What host and device say alike of the rungs whose CTAs have tiles of query rows.
#pragma once

#include "ladder/tracks/rows.hpp"

namespace raceline::kernels::prefill {

using namespace tracks;

/// Tiles of the rungs whose warps have a row each, and the threads of such a CTA.
inline constexpr std::array<RowsTile, 3> warp_tiles{{{8}, {16}, {32}}};
constexpr int warp_threads(int rows) {
    return rows * 32;
}

/// A tile of Q and one of K in shared memory. Lanes read 16 bytes of 32 rows of K: four floats of
/// padding put the rows of a quarter-warp into different banks. Of Q all lanes read the same.
template <int rows, int headdim>
struct ScoresShared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
};

/// A tile of P and one of V. Lanes read neighbouring columns of V and the same probability.
template <int rows, int headdim>
struct ValuesShared {
    alignas(16) float p[rows][tile_keys];
    alignas(16) float v[tile_keys][headdim];
};

/// Of a launch that makes both products.
template <int rows, int headdim>
struct BothShared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[tile_keys][headdim + 4];
    alignas(16) float p[rows][tile_keys];
    alignas(16) float v[tile_keys][headdim];
};

}  // namespace raceline::kernels::prefill

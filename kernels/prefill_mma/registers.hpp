// SPDX-License-Identifier: Apache-2.0
// Registers of a thread, by tile, as ptxas gives them for sm_90: the most of both dtypes. A test
// compares them with the compiler's report.
#pragma once

#include "kernels/prefill_mma/tile.hpp"

namespace raceline::kernels::prefill_mma {

inline constexpr std::array<int, tiles.size()> tile_registers{
    219, 168, 161, 245, 255, 223, 118, 255, 255, 255, 243, 231, 239, 199, 167,
    255, 255, 255, 231, 167, 159, 241, 241, 235, 241, 241, 241, 241, 243};

constexpr int declared_registers(const Tile& tile) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        if (tiles[i] == tile) {
            return tile_registers[i];
        }
    }
    return 255;
}

}  // namespace raceline::kernels::prefill_mma

// SPDX-License-Identifier: Apache-2.0
// The tuning space of simt_tree: simt's tiles for few query tokens.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/simt/tile.hpp"

namespace raceline::kernels::simt_tree {

using simt::Tile;

inline constexpr std::array<Tile, 3> tiles{simt::tiles[0], simt::tiles[1], simt::tiles[2]};

/// A row's word takes a register more a row: where simt has none to spare, a tile of fewer rows
/// serves the call.
constexpr bool compiled(const Tile& tile, int v_width) {
    return simt::compiled(tile, v_width) &&
           (tile.rows_per_lane() == 1 || simt::accumulators(tile, v_width) < 64);
}

/// Registers of a thread as the compiler reports them for sm_90; 0 where nothing is compiled. A
/// test compares them with its report.
constexpr int declared_registers(const Tile& tile, int v_width) {
    // Rows as in `tiles`, columns as in simt's `v_widths`.
    constexpr std::array<std::array<int, simt::v_widths.size()>, tiles.size()> table{{
        {160, 158, 159, 158, 158, 159},
        {155, 148, 158, 162, 0, 0},
        {122, 163, 0, 0, 0, 0},
    }};
    return simt::entry_of(table, tiles, tile, v_width);
}

}  // namespace raceline::kernels::simt_tree

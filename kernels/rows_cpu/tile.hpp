// SPDX-License-Identifier: Apache-2.0
// The tuning space of rows_cpu.
#pragma once

#include <array>

#include "registry/stream_tile.hpp"

namespace raceline::kernels::rows_cpu {

using Tile = StreamTile;
inline constexpr std::array tile_list = stream_tiles;

}  // namespace raceline::kernels::rows_cpu

// SPDX-License-Identifier: Apache-2.0
// The tuning space of decode_sm90_tree: decode_sm90's.
#pragma once

#include <array>

#include "kernels/decode_sm90/tile.hpp"

namespace raceline::kernels::decode_sm90_tree {

using decode_sm90::Tile;

inline constexpr std::array<Tile, 19> tiles{decode_sm90::tiles};

}  // namespace raceline::kernels::decode_sm90_tree

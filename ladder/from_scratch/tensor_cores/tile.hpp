// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ladder/from_scratch/rows.hpp"
#include "ladder/tracks/wmma_tile.hpp"

namespace raceline::kernels::tensor_cores {

using namespace from_scratch;

inline constexpr std::array<RowsTile, 2> tiles{{{32}, {64}}};

}  // namespace raceline::kernels::tensor_cores

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ladder/prefill/rows.hpp"
#include "ladder/tracks/wmma_tile.hpp"

namespace raceline::kernels::wmma {

using namespace prefill;

inline constexpr std::array<RowsTile, 2> tiles{{{64}, {128}}};

}  // namespace raceline::kernels::wmma

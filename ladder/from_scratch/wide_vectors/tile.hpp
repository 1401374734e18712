// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ladder/from_scratch/tensor_cores/tile.hpp"

namespace raceline::kernels::wide_vectors {

using namespace tensor_cores;

inline constexpr std::array<RowsTile, 1> tiles{{{128}}};

}  // namespace raceline::kernels::wide_vectors

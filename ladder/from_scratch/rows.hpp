// SPDX-License-Identifier: Apache-2.0
// What host and device say alike of the rungs from scratch.
#pragma once

#include "ladder/tracks/rows.hpp"

namespace raceline::kernels::from_scratch {

using namespace tracks;

inline constexpr int threads = 128;  ///< of a CTA, before the tensor cores
inline constexpr int warps = threads / 32;

/// Of the rungs whose CTAs have a tile of query rows.
inline constexpr std::array<RowsTile, 2> tiles{{{16}, {32}}};

}  // namespace raceline::kernels::from_scratch

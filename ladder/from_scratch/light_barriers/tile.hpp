// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ladder/from_scratch/rows.hpp"

namespace raceline::kernels::light_barriers {

using namespace from_scratch;

/// Shared memory of a CTA: two buffers of K and V, one being read while the other is written. Lanes
/// read 16 bytes of 32 rows of K, and of two rows of P: four floats of padding put neighbouring
/// rows into different banks.
template <int rows, int headdim>
struct Shared {
    alignas(16) float q[rows][headdim];
    alignas(16) float k[2][tile_keys][headdim + 4];
    alignas(16) float v[2][tile_keys][headdim];
    alignas(16) float p[rows][tile_keys + 4];
};

}  // namespace raceline::kernels::light_barriers

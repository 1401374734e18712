// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ladder/from_scratch/rows.hpp"

namespace raceline::kernels::block {

using namespace from_scratch;

/// Shared memory of a CTA. Lanes read one element of 32 rows of K, or of S for the maxima and sums:
/// a float of padding puts the rows into different banks.
template <int rows, int headdim>
struct Shared {
    float q[rows][headdim];
    float k[tile_keys][headdim + 1];
    float v[tile_keys][headdim];
    float s[rows][tile_keys + 1];
    float highest[rows], sum[rows];  // of the row so far
    float rescale[rows];             // what came before to the maximum of now
};

}  // namespace raceline::kernels::block

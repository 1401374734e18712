// SPDX-License-Identifier: Apache-2.0
// What a launch declares that makes both products by WMMA (gpu/tile/wmma_rows.cuh).
// Provenance of the numbers below: code. They are counted in the source and in the machine code.
#pragma once

#include <vector>

#include "ladder/tracks/counts.hpp"

namespace raceline::kernels::tracks {

/// The code of one tile, of so many instructions with `stalls` clocks each. Clocks hold the matrix
/// products, five round trips to shared memory (29 each), a shuffle (24) and two exponentials (18).
constexpr Code wmma_loop(double instructions, double stalls) {
    return {instructions, stalls * instructions + 5 * 29 + 24 + 2 * 18};
}
/// The code of staging Q, and of the output's way through shared memory.
constexpr Code wmma_rest(double instructions, double stalls, double headdim) {
    return {instructions, stalls * instructions + headdim / 16 * 2 * 29};
}

/// `staged` and `staged_q` are a warp's passes for storing K and V of a tile, and Q.
struct WmmaWalk {
    int rows, buffers, registers;
    Code loop, rest;
    double staged, staged_q;
};
std::vector<Counts> wmma_counts(const Workload& w, const WmmaWalk& walk);

}  // namespace raceline::kernels::tracks

// SPDX-License-Identifier: Apache-2.0
// The phases of one CTA of the main launch, as work and clocks.
#pragma once

#include <vector>

#include "kernels/simt/plan.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::simt {

/// Everything that one call's CTAs have in common.
struct Body {
    const Workload& w;
    const Plan& plan;
    const Tile& tile;
    double warps, lane_rows, quads;  ///< quads: of outputs, a lane
    double element;                  ///< bytes of K and V
    double row_bytes;                ///< of K and V as loaded
};

Body body_of(const Workload& workload, const Plan& plan, const Tile& tile);

/// Of a CTA with `key_tiles` tiles of keys that leaves `out_bytes`.
std::vector<Step> steps_of(const Body& body, double key_tiles, double out_bytes);

}  // namespace raceline::kernels::simt

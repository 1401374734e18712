// SPDX-License-Identifier: Apache-2.0
// What the launch that transposes V does, and what it leaves to the main one.
#pragma once

#include "kernels/prefill_sm90_fp8/tile.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// Images that hold a key: the launch writes these, and the main one reads them.
double images_read(const Workload& workload, const Tile& tile);
/// Of V itself.
double values_bytes(const Workload& workload);

Counts preparation(const Workload& workload, const Tile& tile);

}  // namespace raceline::kernels::prefill_sm90_fp8

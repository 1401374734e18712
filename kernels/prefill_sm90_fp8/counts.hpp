// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/prefill_sm90_fp8/plan.hpp"
#include "model/counts.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

/// What the schedule hands out: whole launch, and the CTA that gets the most blocks.
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::prefill_sm90_fp8

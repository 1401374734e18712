// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/cpu_flash/tile.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::cpu_flash {

/// What a launch executes, counted by walking the plan that the launch itself walks.
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::cpu_flash

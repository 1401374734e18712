// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/simt/tile.hpp"
#include "model/constant.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::simt {

/// Registers of a thread as the compiler reports them for sm_90; 0 where nothing is compiled.
int declared_registers(const Tile& tile, int v_width);
inline constexpr int merge_registers = static_cast<int>(counted(48, "the compiler's report"));

std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::simt

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"
#include "kernels/decode_sm90/tile.hpp"
#include "model/counts.hpp"
#include "workload/workload.hpp"

namespace raceline::kernels::decode_sm90 {

/// Blocks of all units of a call: what the line that is cut into parts holds.
std::int64_t blocks_of_call(const Workload& workload, const Tile& tile);
std::vector<Counts> counts(const Workload& workload, const Tile& tile, const Device& device);

}  // namespace raceline::kernels::decode_sm90

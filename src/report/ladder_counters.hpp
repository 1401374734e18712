// SPDX-License-Identifier: Apache-2.0
// What hardware counters said of the rungs, and which term of a prediction they show to be wrong.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "registry/kernel.hpp"
#include "report/ladder_verdict.hpp"

namespace raceline {

/// Of one rung: its record and its cases.
using RungCases = std::pair<const Kernel*, std::vector<RungCase>>;

/// A table of the cases that were profiled, a line each; "" without any. DRAM bytes stand beside
/// those that the rung's record counts, as first reads and writes.
std::string counters_table(const std::vector<RungCases>& rungs, const Device& device);

}  // namespace raceline

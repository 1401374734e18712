// SPDX-License-Identifier: Apache-2.0
// Tables of docs/ladder.md over one variable: group size, batch, context, format, splits.
#pragma once

#include <span>
#include <string>

#include "support/json.hpp"

namespace raceline {

/// Markdown of the sweeps that ladder/sweeps.json names, from the last correct measurement of each
/// case on any device. Achieved parallelism stands beside every bandwidth: CTAs of the first
/// launch, CTAs an SM holds, waves, and bytes in flight beside what latency × bandwidth asks for
/// (Little's law), all from the rung's counts. A sweep without rows is left out; "" without any.
std::string sweeps_markdown(std::span<const Json> rows);

}  // namespace raceline

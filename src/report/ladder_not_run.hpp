// SPDX-License-Identifier: Apache-2.0
// The table of docs/ladder.md for a device that nobody here has run: B300, which the published
// figures of the last rungs are from.
#pragma once

#include <string>
#include <vector>

#include "model/counts.hpp"

namespace raceline {

/// Counts with the work of Hopper's matrix engine charged to Blackwell's, in totals, steps and
/// overlaps alike: what a rung written for wgmma would do, if its products ran there.
std::vector<Counts> on_tcgen05(std::vector<Counts> launches);

/// Bound and predicted time on B300 of the latent's rungs and of NVFP4, from what their records
/// count and the datasheet's rates. From no receipt: every line is marked as not run.
std::string not_run_markdown();

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// How the warps that a unit holds wait for each other: a closed queueing network.
#pragma once

#include <cstdint>

#include "model/costs.hpp"

namespace raceline {

/// Seconds in which the heaviest CTA is done on a unit that holds `residents` of its kind, `units`
/// units at work. Warps queue; what serves one of them at a time are the schedulers
/// (instructions, exponentials, matrix products) and the unit's shared memory. A step of a warp
/// takes its chain of dependent instructions, or its own work where that is longer, and waits
/// besides, at each resource
/// - for warps of other CTAs, which are there by chance: mean-value analysis of a closed network
///   (Reiser and Lavenberg, JACM 27(2), 1980), in Schweitzer's form, with several queues;
/// - for those of its own CTA, which barriers keep in step. They arrive at shared memory together:
///   the last one finds all the others before it, and the barrier waits for the last. A scheduler
///   takes turns among them with each instruction: there they meet by chance as well.
/// Never less than one warp alone takes. For launches with LaunchCosts::warps.
double warps_in_line_seconds(const LaunchCosts& costs, std::int64_t units, std::int64_t residents);

}  // namespace raceline

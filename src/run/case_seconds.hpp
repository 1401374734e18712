// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "run/run_case.hpp"

namespace raceline {

/// The model's time of each case, for nothing but an idea of how long a run takes; 0 where the
/// device does not run it.
std::vector<double> seconds_of_cases(std::span<const Case> cases, const Device& device);

}  // namespace raceline

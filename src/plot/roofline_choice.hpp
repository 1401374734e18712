// SPDX-License-Identifier: Apache-2.0
// Which cases of many a roofline draws.
#pragma once

#include <string>

#include "plot/charts.hpp"
#include "plot/roofline_points.hpp"

namespace raceline {

/// What is drawn, and a sentence on what is not.
struct ChosenGroups {
    RooflineGroups groups;
    std::string note = {};  ///< "" where all is drawn
};

/// All groups, or where more kernels or groups than can be told apart would be on the picture, and
/// not Shown::all is asked for: each case at its newest commit, of eight kernels. Those are of each
/// operation the kernel with most cases, then of all others those with most.
ChosenGroups chosen_groups(const TimedRows& rows, Shown shown);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// What three sweeps of a warp over each row of a score matrix move.
#pragma once

#include "registry/kernel.hpp"

namespace raceline::kernels::naive {

/// A launch without its geometry and steps. `pairs`: scores that are computed; `instructions`: of a
/// warp for one lane's score, over all sweeps.
Counts softmax_work(const Workload& w, const Device& device, double rows, double pairs,
                    double instructions);

}  // namespace raceline::kernels::naive

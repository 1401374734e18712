// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/prediction.hpp"
#include "registry/kernel.hpp"
#include "run/run_case.hpp"

namespace raceline {

struct TileChoice {
    int tile = 0;
    Prediction prediction;
};

/// Tiles that support the workload, fastest predicted first, with the model's calibrated constants
/// or with what stands in for them.
std::vector<TileChoice> ranked_tiles(const Kernel& kernel, const Workload& workload,
                                     const Device& device, const LaunchCase& how,
                                     Calibration calibration = Calibration::used);

/// `text` is best (by the model, as above), all, or fields as in "m=128,n=64" (a subset of the
/// fields selects every tile that matches). Throws Error(invalid_argument) naming the fields and
/// their values if none matches.
std::vector<int> select_tiles(const Kernel& kernel, std::string_view text, const Workload& workload,
                              const Device& device, const LaunchCase& how,
                              Calibration calibration = Calibration::used);

}  // namespace raceline

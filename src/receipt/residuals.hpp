// SPDX-License-Identifier: Apache-2.0
// How wrong earlier predictions were, by the receipts that hold them beside what was measured.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "support/json.hpp"

namespace raceline {

struct Residual {
    std::string device_id, device_name, kernel;
    bool cold = true;
    int newer_models = 0;  ///< of this kernel on this device: models that predicted later
    double predicted = 0;  ///< seconds
    double residual = 0;   ///< predicted / measured - 1
};

/// One for each case (device, kernel, tile, workload, launch) that was predicted, passed the gate
/// and has a time; of several measurements the one written last. Measurements without their
/// prediction are passed over, those of comparisons, in which a peer ran between, and those of
/// suites whose name ends in "-odd".
std::vector<Residual> residuals_of(std::span<const PastMeasurement> measurements);
/// Of a file's rows, without those of a form that this version does not know.
std::vector<Residual> residuals_of(std::span<const Json> rows);

}  // namespace raceline

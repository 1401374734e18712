// SPDX-License-Identifier: Apache-2.0
// What a prediction is made of, for a reader: its terms, and where each constant comes from.
#pragma once

#include <string>
#include <vector>

#include "run/run_case.hpp"
#include "support/json.hpp"
#include "support/text_style.hpp"

namespace raceline {

/// The case, seconds by term of the schedule and by resource, then every constant that was used
/// with its origin and source; of a calibrated one also what stands in for it without calibration.
std::string explanation(const Case& which, const Device& device,
                        const ExplainedPrediction& explained, const TextStyle& style = {});

/// [{name, value, origin, source, stand_in, stand_in_source}]; the last two of calibrated ones.
Json constants_to_json(const std::vector<Constant>& constants);

}  // namespace raceline

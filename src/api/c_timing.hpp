// SPDX-License-Identifier: Apache-2.0
// What rl_time_contenders gave, read back.
#pragma once

#include <string_view>

#include "raceline/raceline.h"
#include "timing/measurement.hpp"

namespace raceline::api {

/// Throws Error(invalid_argument) for what no measurement can be.
Measurement read_timing(const rl_timing* given, std::string_view name);

}  // namespace raceline::api

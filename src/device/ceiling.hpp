// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace raceline {

/// One measured ceiling, as it stands in a `ceiling` row.
struct Ceiling {
    std::string resource;  ///< id as in Device::rates
    double value = 0;
    std::string unit;     ///< flop/s, op/s, byte/s, s
    double clock_hz = 0;  ///< measured during the probe
    double power_w = 0;   ///< 0: not known
    std::string method;   ///< how, in a sentence
    double limit = 0;     ///< units × rate per clock × clock, 0 where there is none
};

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Rates, times and energies of a device's resources, for eyes.
#pragma once

#include <string>
#include <string_view>

namespace raceline {

/// Of a rate by its resource's id: "989 TFLOP/s", "4.62 TB/s", "4.18 Top/s"; of a floor or a
/// latency "702 ns".
std::string rate_text(std::string_view resource, double value);

/// "98.3 pJ/B", "0.94 pJ/FLOP"
std::string energy_text(std::string_view resource, double joules);

}  // namespace raceline

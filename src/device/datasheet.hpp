// SPDX-License-Identifier: Apache-2.0
// Reading devices/*.json beyond what catalog.hpp offers: formulas of the generic CPU.
#pragma once

#include <string_view>

#include "device/device.hpp"
#include "support/json.hpp"

namespace raceline {

/// The compiled-in devices/<id>.json, parsed once. Throws Error(no_device) with the nearest id.
const Json& datasheet_json(std::string_view id);

/// Fills `device.rates` from `object`'s rates, which are stated for `base`'s sizes. A rate with
/// "scales_with" is multiplied by the ratio of units, clock and simd; one that scales with bf16_dot
/// is left out on a CPU without such instructions. Other rates are taken as they stand.
void read_rates(const Json& object, std::string_view where, const Device& base, Device& device);

}  // namespace raceline

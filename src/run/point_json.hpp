// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "raceline/point.hpp"
#include "support/json.hpp"

namespace raceline {

/// A point and its verdict, as `raceline point --json`, rl_point and Python's raceline.point have
/// it. `name` may be empty.
Json point_to_json(const std::string& name, const WorkPoint& point, const PointVerdict& verdict,
                   const Device& device);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "raceline/point.hpp"

namespace raceline {

/// judge_point (raceline/point.hpp) with the rates of this device. Of several rates of one engine,
/// lasting and burst, the highest counts, as in the bound of a problem.
PointVerdict judge_point(const Device& device, const WorkPoint& point);

/// What the verdict says of a measured point, as a clause: within 3 % of the roof or above
/// "at the roof" and beyond; from three fifths on "limited by it"; below "waits".
std::string_view standing_of(const PointVerdict& verdict);

}  // namespace raceline

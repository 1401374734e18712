// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/device.hpp"
#include "raceline/point.hpp"

namespace raceline {

/// judge_point (raceline/point.hpp) with the rates of this device. Of several rates of one engine,
/// lasting and burst, the highest counts, as in the bound of a problem.
PointVerdict judge_point(const Device& device, const WorkPoint& point);

/// What the verdict says of a measured point, by the share of the roof that it reaches: "beyond the
/// roof" over 103 %, "at the roof" from 97 % on, "limited by it" from `limiter_share` on, "waits"
/// below. "not measured" without a time.
std::string_view standing_of(const PointVerdict& verdict);

}  // namespace raceline

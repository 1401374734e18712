// SPDX-License-Identifier: Apache-2.0
// Points of one's own as a table: what limits each, how far it is from that, what would help.
#pragma once

#include <span>
#include <string>

#include "raceline/point.hpp"
#include "support/text_style.hpp"

namespace raceline {

struct JudgedPoint {
    std::string name;
    double seconds = 0;  ///< measured; 0: not yet
    PointVerdict verdict;
};

std::string point_table(std::span<const JudgedPoint> points, const TextStyle& style = {});

/// What of the bound a tenth more of the limiting rate would save, a fraction.
double saved_by_tenth(const PointVerdict& verdict);

}  // namespace raceline

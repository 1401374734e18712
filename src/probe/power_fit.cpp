// SPDX-License-Identifier: Apache-2.0
#include "probe/power_fit.hpp"

#include <cmath>

#include "support/check.hpp"

namespace raceline::probe {

double fit_joules(std::span<const PowerPoint> points, double idle_w, double highest_hz) {
    double xx = 0, xy = 0;
    for (const PowerPoint& point : points) {
        if (point.clock_hz >= at_highest_clock * highest_hz) {
            xx += point.rate * point.rate;
            xy += point.rate * (point.watts - idle_w);
        }
    }
    require(xx > 0, Status::internal, "no power reading at the highest clock");
    return xy / xx;
}

std::optional<double> voltage_slope(const PowerPoint& half, const PowerPoint& all, double joules,
                                    double idle_w, double highest_hz) {
    const double clocks = all.rate / (2 * half.rate);
    const double dynamic = (all.watts - idle_w) / (joules * all.rate);
    const bool held_down = half.clock_hz >= at_highest_clock * highest_hz && clocks < 0.95;
    if (!held_down || dynamic <= 0 || dynamic >= 1) {
        return std::nullopt;
    }
    return (1 - std::sqrt(dynamic)) / (1 - clocks);
}

}  // namespace raceline::probe

// SPDX-License-Identifier: Apache-2.0
// What is left between a measured point and the roof of its limiter, on a roofline.
#pragma once

#include "plot/chart.hpp"
#include "plot/roofline_points.hpp"

namespace raceline {

/// A dotted line from the measured point to the roof of its limiter, with the speed-up that is left
/// above it, where no other words stand. Which limiter that is stands in the legend, where no words
/// cover points. `line`: the height of a line of words, as a share of the y axis.
void add_gap(Panel& panel, const RooflinePoint& point, Colour colour, double line);

/// By which factor the y axis has to end higher for all speed-ups to stand on the panel; at
/// least 1.
double room_for_gaps(const Panel& panel, double line);

}  // namespace raceline

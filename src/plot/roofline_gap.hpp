// SPDX-License-Identifier: Apache-2.0
// What is left between a measured point and the roof of its limiter, on a roofline.
#pragma once

#include "plot/chart.hpp"
#include "plot/placement.hpp"
#include "plot/roofline_points.hpp"
#include "plot/roofs.hpp"

namespace raceline {

/// A dotted line from the measured point to the roof of its limiter, and for add_gap_words the
/// speed-up that is left. Where none of `roofs` passes there, since it is a roof of
/// exponentials or instructions, of a cache whose bytes are not those of the axis, of an engine
/// that also works on padding, or no roof but what no program beats, a short bar ends the line.
/// Which limiter it is, and whether it has a bar, stands in the legend, where no words cover
/// points. `shift`: how far right of its place the point is drawn, as a factor.
ChartText add_gap(Panel& panel, const RooflinePoint& point, const Roofs& roofs, Colour colour,
                  double shift, const Place& place);

/// Once all gaps of a panel are on it: above the line, where neither other words stand nor marks or
/// bars, and beside roofs if there is such a place nearby.
void add_gap_words(Panel& panel, ChartText words, const Place& place);

/// By which factor the y axis has to end higher for all speed-ups to stand on the panel; at
/// least 1.
double room_for_gaps(const Panel& panel, const Place& place);

}  // namespace raceline

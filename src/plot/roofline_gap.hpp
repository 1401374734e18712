// SPDX-License-Identifier: Apache-2.0
// What is left between a measured point and what it could reach, on a roofline: the roof of its
// limiter, or of its busiest resource where the limiter has none, or what no program passes.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/placement.hpp"
#include "plot/roofline_points.hpp"
#include "plot/roofs.hpp"

namespace raceline {

/// What dotted lines of these panels end on, for the key, after its other sentences; "" without
/// any.
std::string gaps_key(const std::vector<RooflineGroups>& panels);

/// A dotted line from the measured point to that, and for add_gap_words the
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

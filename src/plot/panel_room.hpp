// SPDX-License-Identifier: Apache-2.0
// Panels whose axes reach as far as their words need, which depends on how large they are drawn.
#pragma once

#include <functional>
#include <vector>

#include "plot/chart.hpp"
#include "plot/placement.hpp"

namespace raceline {

/// By which factors axes show more than points and roofs ask for, so that words have room.
struct Room {
    double above = 1, along = 1;
};
struct DrawnPanel {
    Panel panel;
    bool names_fit = true;  ///< of memory, each on its diagonal
};
/// Draws a panel for axes of the size of a place.
using DrawPanel = std::function<DrawnPanel(const Room& room, const Place& place)>;

/// Adds the panels that are drawn so. They share one width of the axes. The chart becomes
/// as large as axes of at least `axes.width` by `axes.height` pixels ask for.
void draw_panels(Chart& chart, const std::vector<DrawPanel>& draws, const Place& axes);

}  // namespace raceline

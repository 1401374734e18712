// SPDX-License-Identifier: Apache-2.0
#include "plot/panel_room.hpp"

#include <algorithm>
#include <utility>

#include "plot/roofline_gap.hpp"

namespace raceline {
namespace {

// Draws a panel again with a higher end of its y axis and a lower one of either, until all
// words stand on it. Where there are more of them than lines of the panel that never ends: the last
// one is taken.
Panel with_room(const DrawPanel& draw, const Place& place) {
    constexpr int most_times = 8;
    Room room;
    DrawnPanel drawn = draw(room, place);
    for (int i = 0; i < most_times; ++i) {
        const double above = room_for_gaps(drawn.panel, place);
        if (above <= 1 && drawn.names_fit) {
            break;
        }
        room.above *= above;
        room.along *= drawn.names_fit ? 1 : 2;
        drawn = draw(room, place);
    }
    return drawn.panel;
}

}  // namespace

// Where words can stand depends on the size of the axes, which depends on margins and legends: all
// panels are drawn once to know these, and then for good.
void draw_panels(Chart& chart, const std::vector<DrawPanel>& draws, const Place& axes) {
    double margin = 0;
    for (const DrawPanel& draw : draws) {
        chart.panels.push_back(draw({}, axes).panel);
        margin = std::max(margin, chart.panels.back().right_margin);
    }
    for (Panel& panel : chart.panels) {
        panel.right_margin = margin;
    }
    give_axes_room(chart, axes.width, axes.height);
    std::vector<Panel> drawn;
    for (std::size_t i = 0; i < draws.size(); ++i) {
        drawn.push_back(with_room(draws[i], place_of(chart, i)));
        drawn.back().right_margin = margin;
        drawn.back().height = chart.panels[i].height;
    }
    chart.panels = std::move(drawn);
}

}  // namespace raceline

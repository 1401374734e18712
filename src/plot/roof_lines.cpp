// SPDX-License-Identifier: Apache-2.0
#include "plot/roof_lines.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <ranges>

#include "support/text_table.hpp"

namespace raceline {
namespace {

std::string engine_name(const Roof& roof) {
    return fmt::format("{} {}{}", roof.name, format_si(roof.rate, "FLOP/s"),
                       roof.measured ? "" : " (datasheet)");
}

// Heights of names beside roofs of these rates, the lowest first: apart from each other and within
// the panel.
std::vector<double> heights_of(const Panel& panel, const std::vector<Roof>& engines, double line) {
    const double apart = std::pow(panel.y.high / panel.y.low, line);
    std::vector<double> heights;
    heights.reserve(engines.size());
    for (const Roof& roof : engines) {
        heights.push_back(heights.empty() ? roof.rate
                                          : std::max(roof.rate, heights.back() * apart));
    }
    double most = panel.y.high;
    for (double& height : std::views::reverse(heights)) {
        height = std::min(height, most);
        most = height / apart;
    }
    return heights;
}

}  // namespace

void add_engine_names(Panel& panel, const std::vector<Roof>& engines, double line) {
    const std::vector<double> heights = heights_of(panel, engines, line);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        const std::string name = engine_name(engines[i]);
        longest = std::max(longest, name.size());
        panel.texts.push_back({.x = panel.x.high * 1.03,
                               .y = heights[i],
                               .text = name,
                               .colour = Colour::black,
                               .align = Align::left});
    }
    panel.right_margin = 24 + 7.2 * static_cast<double>(longest);
}

void add_roofs(Panel& panel, const Roofs& roofs, Line line, const std::string& title) {
    if (roofs.memory.empty() || roofs.engines.empty()) {
        return;
    }
    const double top = roofs.engines.back().rate;
    bool first = true;
    for (const Roof& roof : roofs.memory) {
        const double ridge = top / roof.rate;
        panel.series.push_back({.title = first ? title : "",
                                .colour = Colour::grey,
                                .line = line,
                                .width = 1.4,
                                .points = {{panel.x.low, panel.x.low * roof.rate}, {ridge, top}}});
        first = false;
    }
    const double slowest = roofs.memory.front().rate;
    for (const Roof& roof : roofs.engines) {
        panel.series.push_back(
            {.title = {},
             .colour = Colour::grey,
             .line = line,
             .width = 1.4,
             .points = {{std::max(panel.x.low, roof.rate / roofs.memory.back().rate), roof.rate},
                        {std::max(panel.x.high, roof.rate / slowest), roof.rate}}});
    }
}

void add_roof_extent(const Roofs& roofs, std::vector<double>& x, std::vector<double>& y) {
    if (!roofs.memory.empty() && !roofs.engines.empty()) {
        x.push_back(roofs.engines.back().rate / roofs.memory.front().rate);
        x.push_back(roofs.engines.back().rate / roofs.memory.back().rate / 3);
        y.push_back(roofs.engines.back().rate);
        y.push_back(roofs.engines.front().rate / 2);
    }
}

void add_memory_names(Panel& panel, const Roofs& roofs, const std::string& device,
                      std::size_t place) {
    double last = 0;
    int beside = 0;
    for (const Roof& roof : roofs.memory) {
        beside = last > 0 && roof.rate / last < 1.5 ? beside + 1 : 0;
        last = roof.rate;
        const double x =
            std::max(panel.x.low, panel.y.low / roof.rate) * 1.15 *
            std::pow(panel.x.high / panel.x.low, 0.24 * beside + 0.2 * static_cast<double>(place));
        panel.texts.push_back(
            {.x = x,
             .y = x * roof.rate,
             .text = fmt::format("{}{} {}{}", device, roof.name, format_si(roof.rate, "B/s"),
                                 roof.measured ? "" : " (datasheet)"),
             .colour = Colour::black,
             .align = Align::left,
             .towards = {{2 * x, 2 * x * roof.rate}}});
    }
}

}  // namespace raceline

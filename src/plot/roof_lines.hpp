// SPDX-License-Identifier: Apache-2.0
// Roofs on a panel of a roofline, and their names.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/roofs.hpp"

namespace raceline {

/// Adds to the values that axes are fitted to what shows all roofs and where they meet.
void add_roof_extent(const Roofs& roofs, std::vector<double>& x, std::vector<double>& y);

/// Diagonals of memory up to the fastest engine, and level lines of engines from the fastest level
/// of memory on. `title`: in the legend, if not empty.
void add_roofs(Panel& panel, const Roofs& roofs, Line line, const std::string& title);

/// Names with rates right of the axes, each beside its roof as far as they leave each other room;
/// `line`: the height of one as a share of the axis. `engines`: the slowest first. Widens the
/// panel's right margin.
void add_engine_names(Panel& panel, const std::vector<Roof>& engines, double line);

/// Names along each diagonal, from where it enters the panel; of two close ones the second further
/// on. `device`: in front of each. `place`: of several devices the how many-th this is, whose names
/// stand further on than those of the ones before.
void add_memory_names(Panel& panel, const Roofs& roofs, const std::string& device,
                      std::size_t place);

}  // namespace raceline

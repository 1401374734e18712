// SPDX-License-Identifier: Apache-2.0
// Roofs on a panel of a roofline, and their names.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.hpp"
#include "plot/placement.hpp"
#include "plot/roofs.hpp"

namespace raceline {

/// Adds to the values that axes are fitted to what shows all roofs and where they meet.
void add_roof_extent(const Roofs& roofs, std::vector<double>& x, std::vector<double>& y);

/// Diagonals of memory up to the fastest engine, and level lines of engines from the fastest level
/// of memory on. `title`: in the legend, if not empty.
void add_roofs(Panel& panel, const Roofs& roofs, Line line, const std::string& title);

/// Leaves room right of the axes for the names of these engines.
void make_room_for_names(Panel& panel, const std::vector<Roof>& engines);

/// Names with rates right of the axes, each beside its roof as far as they leave each other room.
/// `engines`: the slowest first.
void add_engine_names(Panel& panel, const std::vector<Roof>& engines, const Place& place);

/// Names along each diagonal, as near to where it enters the panel as neither words that stand
/// there nor marks are covered. `device`: in front of each. False where a diagonal is too short for
/// its name beside all others.
bool add_memory_names(Panel& panel, const Roofs& roofs, const std::string& device,
                      const Place& place);

/// A remark on what the roof of shared memory holds for; empty where none is drawn.
std::string shared_memory_note(const Roofs& roofs);

}  // namespace raceline

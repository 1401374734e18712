// SPDX-License-Identifier: Apache-2.0
// An axis in gnuplot's words: its ends, scale, ticks and title.
#pragma once

#include <string>
#include <string_view>

#include "plot/chart.hpp"

namespace raceline {

/// In single quotes, within which nothing is a command or a variable.
std::string single_quoted(std::string_view text);

/// `name`: x or y. `columns`: cells of an x axis in a terminal, where names of ticks must not run
/// into each other; 0 elsewhere.
std::string axis_text(const Axis& axis, char name, int columns = 0);

}  // namespace raceline

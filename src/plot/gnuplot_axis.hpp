// SPDX-License-Identifier: Apache-2.0
// An axis in gnuplot's words: its ends, scale, ticks and title.
#pragma once

#include <string>
#include <string_view>

#include "plot/chart.hpp"

namespace raceline {

/// In single quotes, within which nothing is a command or a variable.
std::string single_quoted(std::string_view text);

/// `name`: x or y.
std::string axis_text(const Axis& axis, char name);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plot/chart.hpp"
#include "plot/terminal_layout.hpp"

namespace raceline {

enum class PictureForm : std::int32_t { svg, png, pdf, terminal };

/// By the ending of a file's name. Throws Error(invalid_argument) naming the endings there are.
PictureForm picture_form(std::string_view file);

/// A script that draws the chart to gnuplot's standard output, with its data in it. Words of the
/// chart stand in single quotes, in which gnuplot takes nothing for a command.
std::string gnuplot_script(const Chart& chart, PictureForm form, TerminalSize terminal = {});

}  // namespace raceline

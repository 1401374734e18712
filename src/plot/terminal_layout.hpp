// SPDX-License-Identifier: Apache-2.0
// Where the parts of a panel stand in the cells of a terminal, where no words may share a cell.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plot/chart.hpp"
#include "plot/legend.hpp"

namespace raceline {

/// How large a drawing in a terminal is, in characters.
struct TerminalSize {
    int columns = 80, rows = 24;
};

/// Words that begin at a cell, which is counted from the lower left one.
struct CellText {
    int column = 0, row = 0;
    std::string text;
};

struct TerminalLayout {
    TerminalSize size;  ///< at least what was asked for: all words have room
    int left = 0, right = 0, bottom = 0, top = 0;  ///< cells around the axes
    Legend legend = {};
    /// Title of the y axis, names of ticks where there are any on the x axis, and the panel's
    /// texts, each as near to its place as marks and others leave it room.
    std::vector<CellText> words;
    /// Texts for which marks leave no room near their places.
    std::vector<std::string> without_room;
};

/// The y axis as a terminal shows it: one whose ticks have names a unit apart, as those of shapes
/// and rungs, gets a row for each unit, so that every mark stands in the row of its name.
Axis terminal_rows(Axis y);

/// Whether its points are letters in a terminal.
bool is_marked(const Series& series);

/// `size`: what the terminal has. Each name of the y axis gets a line of its own.
TerminalLayout terminal_layout(const Panel& given, TerminalSize size);

/// Column and row of each mark of a series, of a panel whose y axis is that of terminal_rows().
using TerminalCell = std::pair<int, int>;
std::vector<TerminalCell> terminal_cells(const Panel& panel, TerminalSize size,
                                         const Series& series);

}  // namespace raceline

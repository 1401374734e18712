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
    TerminalSize size;                             ///< rows: as many as all names need
    int left = 0, right = 0, bottom = 0, top = 0;  ///< cells around the axes
    bool names_above = false;  ///< those of rows stand above them, as the y axis has no room
    Legend legend = {};
    /// Title of the y axis, names of ticks where there are any on the x axis, and the panel's
    /// texts, each as near to its place as marks and others leave it room.
    std::vector<CellText> words;
    /// Texts that have no room near their places.
    std::vector<std::string> without_room;
};

/// A panel as a terminal shows it: where ticks of the y axis have names a unit apart, as those of
/// shapes and rungs, every mark stands in the row of its name.
Panel terminal_panel(const Panel& given);

/// Whether its points are letters in a terminal.
bool is_marked(const Series& series);

/// `size`: what the terminal has. Each name of the y axis gets a line of its own.
TerminalLayout terminal_layout(const Panel& given, TerminalSize size);

/// Column and row of each mark of a series, both as terminal_panel() has them.
using TerminalCell = std::pair<int, int>;
std::vector<TerminalCell> terminal_cells(const Panel& panel, TerminalSize size,
                                         const Series& series);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Marks of a chart in a terminal, which has neither colours nor forms, and whose cells hold one
// letter each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plot/chart.hpp"
#include "plot/terminal_layout.hpp"

namespace raceline {

/// Each look of a panel is a letter, small if hollow.
class Letters {
public:
    char of(const Series& series);

private:
    std::vector<std::pair<Colour, Mark>> looks_;
};

/// How gnuplot draws the letters of a series without its lines.
std::string letters_look(const Series& series, Letters& letters);

/// gnuplot's look of bars and of lines among them: of `-` and `|`, which are no series' letter.
std::string bars_look(Bars bars);
std::string line_among_bars_look();

/// Whether a panel has intervals along x.
bool has_bars_along_x(const Panel& panel);

/// A sentence on marks that are not seen, since others stand in their cells; "" where all are. Of a
/// panel with intervals along x every mark counts, of others those of which none is seen.
std::string hidden_marks(const Panel& given, TerminalSize size);

/// A sentence with the panel's texts that would cover marks wherever they stood, apart from those
/// that the legend has; "" where there is none.
std::string words_without_room(const Panel& panel, TerminalSize size);

/// What the key says of letters in a terminal, after the chart's own words.
std::string letters_key(const Chart& chart);

/// Whether any of its points can be drawn.
bool is_drawn(const Series& series);

}  // namespace raceline

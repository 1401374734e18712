// SPDX-License-Identifier: Apache-2.0
#include "plot/terminal_layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "plot/placement.hpp"
#include "support/text_style.hpp"

namespace raceline {
namespace {

int width_of(const std::string& text) {
    return static_cast<int>(letters(text));
}

// The widest name of a tick that gnuplot writes by itself: "500 TFLOP/s", "500.0 µs", "0.95×".
int widest_number(Scale scale) {
    return scale == Scale::flops_per_second ? 11 : scale == Scale::seconds ? 8 : 6;
}

int widest_tick(const Axis& axis) {
    if (axis.ticks.empty()) {
        return widest_number(axis.scale);
    }
    int widest = 0;
    for (const auto& [at, name] : axis.ticks) {
        widest = std::max(widest, width_of(name));
    }
    return widest;
}

// In front of a name that has no room beside its roof: where that is.
const std::string arrow_up = "↑ ";
const std::string arrow_down = "↓ ";
const std::string no_arrow = "  ";

std::vector<std::string> name_lines(const std::string& name, const TerminalLayout& layout) {
    return broken_lines(name, static_cast<std::size_t>(layout.size.columns));
}

// Words that stand right of the axes.
int widest_beside(const Panel& panel) {
    int widest = 0;
    for (const ChartText& text : panel.texts) {
        const int arrow = text.led_from ? width_of(arrow_up) : 0;
        widest = text.x > panel.x.high ? std::max(widest, arrow + width_of(text.text)) : widest;
    }
    return widest;
}

// Cells of the axes: their first and last ones.
struct AxesCells {
    int first_column, last_column, first_row, last_row;
};

// Puts words into cells that no others have.
class Cells {
public:
    explicit Cells(TerminalLayout& layout) : layout_(layout) {}

    void keep_free(const std::vector<TerminalCell>& marks) {
        marks_.insert(marks.begin(), marks.end());
    }

    /// As near to a row as possible, the rows in [low, high] only.
    bool put(int column, int row, const std::string& text, int low, int high) {
        column = std::clamp(column, 0, std::max(0, layout_.size.columns - width_of(text)));
        for (int away = 0; away <= high - low; ++away) {
            for (const int at : {row - away, row + away}) {
                if (at >= low && at <= high && put_at(column, at, text)) {
                    return true;
                }
            }
        }
        return false;
    }

    /// In exactly this place, if it is free.
    bool put_at(int column, int row, const std::string& text) {
        const bool free = is_free(column, row, width_of(text));
        if (free) {
            layout_.words.push_back({column, row, text});
        }
        return free;
    }

private:
    // A letter is told from words by the space between them.
    [[nodiscard]] bool is_free(int column, int row, int width) const {
        for (int at = column - 1; at <= column + width; ++at) {
            if (marks_.contains({at, row})) {
                return false;
            }
        }
        return std::ranges::none_of(layout_.words, [&](const CellText& word) {
            return word.row == row && column <= word.column + width_of(word.text) &&
                   word.column <= column + width;
        });
    }
    TerminalLayout& layout_;
    std::set<TerminalCell> marks_;
};

int cell_of(const Axis& axis, double value, int first, int last) {
    const double share = share_of(axis, value);
    return first + static_cast<int>(std::lround(share * (last - first)));
}

int begin_of(const ChartText& text, int column) {
    const int width = width_of(text.text);
    return text.align == Align::left     ? column
           : text.align == Align::centre ? column - width / 2
                                         : column - width + 1;
}

std::vector<TerminalCell> cells_of(const Panel& panel, const AxesCells& axes,
                                   const Series& series) {
    std::vector<TerminalCell> cells;
    for (const ChartPoint& point : series.points) {
        if (std::isfinite(point.x) && std::isfinite(point.y)) {
            cells.emplace_back(cell_of(panel.x, point.x, axes.first_column, axes.last_column),
                               cell_of(panel.y, point.y, axes.first_row, axes.last_row));
        }
    }
    return cells;
}

// Further along the line that a name runs along, `towards` a place, and a row beside it at most.
bool put_along(Cells& cells, const Panel& panel, const AxesCells& axes, const ChartText& text,
               const std::pair<double, double>& towards) {
    const int width = width_of(text.text);
    const double across = axes.last_column - axes.first_column;
    const double up = axes.last_row - axes.first_row;
    const auto [to_x, to_y] = towards;
    const double rise = (share_of(panel.y, to_y) - share_of(panel.y, text.y)) /
                        (share_of(panel.x, to_x) - share_of(panel.x, text.x)) * up / across;
    const int column = cell_of(panel.x, text.x, axes.first_column, axes.last_column);
    const double row = axes.first_row + share_of(panel.y, text.y) * up;
    for (int away = 0; away <= axes.last_column - axes.first_column; ++away) {
        for (const int beside : {0, 1, -1}) {
            for (const int by : {away, -away}) {
                const int at = column + by;
                const int line = static_cast<int>(std::lround(row + rise * by)) + beside;
                const bool inside = at >= axes.first_column && at + width - 1 <= axes.last_column &&
                                    line > axes.first_row && line <= axes.last_row;
                if (inside && cells.put_at(at, line, text.text)) {
                    return true;
                }
            }
        }
    }
    return false;
}

// Right of the axes, as near to its height as possible, and pointing to what it speaks of.
bool put_beside(Cells& cells, TerminalLayout& layout, const Panel& panel, const AxesCells& axes,
                const ChartText& text) {
    const int low = axes.first_row + 1;
    const int high = axes.last_row;
    const auto row_of = [&](double y) {
        return std::clamp(cell_of(panel.y, y, axes.first_row, high), low, high);
    };
    const std::string room = text.led_from ? no_arrow : "";
    if (!cells.put(axes.last_column + 2, row_of(text.y), room + text.text, low, high)) {
        return false;
    }
    if (CellText& put = layout.words.back(); text.led_from) {
        const int own = row_of(text.led_from->second);
        put.text = (own > put.row ? arrow_up : own < put.row ? arrow_down : no_arrow) + text.text;
    }
    return true;
}

// Near its place. A cell is twice as high as it is wide.
bool put_near(Cells& cells, const Panel& panel, const AxesCells& axes, const ChartText& text) {
    constexpr int farthest = 8;
    const int column =
        begin_of(text, cell_of(panel.x, text.x, axes.first_column, axes.last_column));
    const int row = std::clamp(cell_of(panel.y, text.y, axes.first_row, axes.last_row) -
                                   static_cast<int>(std::lround(text.lines_below)),
                               axes.first_row + 1, axes.last_row);
    for (int away = 0; away <= farthest; ++away) {
        for (int rows = away / 2; rows >= 0; --rows) {
            const int columns = away - 2 * rows;
            for (const auto& [right, above] : {std::pair(columns, -rows),
                                               {-columns, -rows},
                                               {columns, rows},
                                               {-columns, rows}}) {
                const bool inside = row + above > axes.first_row && row + above <= axes.last_row &&
                                    column + right > axes.first_column &&
                                    column + right + width_of(text.text) - 1 <= axes.last_column;
                if (inside && cells.put_at(column + right, row + above, text.text)) {
                    return true;
                }
            }
        }
    }
    // The legend tells how wide a gap is; other words stand farther off, over their place.
    const bool in_legend = std::ranges::any_of(panel.series, [&](const Series& series) {
        return series.title.find(text.text) != std::string::npos;
    });
    return !in_legend && cells.put(column, row, text.text, axes.first_row + 1, axes.last_row);
}

// Names of the x axis that are longer than their share of it stand on rows below each other.
int rows_of_names(const Panel& panel, int columns) {
    if (panel.x.ticks.empty()) {
        return 1;
    }
    const int share = std::max(1, columns / static_cast<int>(panel.x.ticks.size()));
    return std::clamp(widest_tick(panel.x) / share + 1, 1, static_cast<int>(panel.x.ticks.size()));
}

bool has_named_rows(const Axis& y) {
    return !y.ticks.empty() && !y.logarithmic;
}

// One that whose ticks have names a unit apart, as those of shapes and rungs, gets a row for each
// unit, and one above and below.
Axis terminal_rows(Axis y) {
    if (has_named_rows(y)) {
        const auto [low, high] =
            std::ranges::minmax(y.ticks, {}, [](const auto& t) { return t.first; });
        y.low = std::floor(low.first) - 1;
        y.high = std::ceil(high.first) + 1;
    }
    return y;
}

constexpr int margin = 3;  // of axes without names beside them
constexpr int least_columns = 16;

// Columns around the axes. Names that leave these too little room stand elsewhere: those of rows
// above them, those right of the axes in a sentence.
void set_columns(TerminalLayout& layout, const Panel& panel, TerminalSize size) {
    constexpr int enough_columns = 24;
    layout.left = widest_tick(panel.y) + margin;
    layout.right = std::max(margin, widest_beside(panel) + 2);
    if (has_named_rows(panel.y) && layout.left + enough_columns + layout.right > size.columns) {
        layout.left = margin;
        layout.names_above = true;
    }
    if (layout.left + least_columns + layout.right > size.columns) {
        layout.right = margin;
    }
    layout.size.columns = std::max(size.columns, layout.left + layout.right + least_columns);
}

// Of names above their rows, each in as many lines as the longest one needs.
std::size_t lines_of_names(const TerminalLayout& layout, const Axis& y) {
    std::size_t most = 0;
    for (const auto& [at, name] : y.ticks) {
        most = std::max(most, name_lines(name, layout).size());
    }
    return layout.names_above ? most : 0;
}

void put_names_above(TerminalLayout& layout, const Axis& y, const AxesCells& axes) {
    for (const auto& [at, name] : y.ticks) {
        const std::vector<std::string> lines = name_lines(name, layout);
        int row = cell_of(y, at, axes.first_row, axes.last_row) + static_cast<int>(lines.size());
        for (const std::string& line : lines) {
            layout.words.push_back({0, row--, line});
        }
    }
}

}  // namespace

Panel terminal_panel(const Panel& given) {
    Panel panel = given;
    panel.y = terminal_rows(given.y);
    for (Series& series : panel.series) {
        for (ChartPoint& point : series.points) {
            if (has_named_rows(panel.y) && is_marked(series)) {
                point.y = std::round(point.y);
            }
        }
    }
    return panel;
}

TerminalLayout terminal_layout(const Panel& given, TerminalSize size) {
    const Panel panel = terminal_panel(given);
    constexpr int least_rows = 8;
    TerminalLayout layout;
    set_columns(layout, panel, size);
    constexpr double sample = 8;  // with the space around it
    layout.legend = legend_of(panel, layout.size.columns, 1, sample);
    const int legend = std::max(1, static_cast<int>(layout.legend.rows));
    const int names = rows_of_names(panel, layout.size.columns - layout.left - layout.right);
    layout.bottom = 1 + names + (panel.x.title.empty() ? 0 : 1) + legend + 1;
    layout.top = (panel.title.empty() ? 1 : 2) + (panel.y.title.empty() ? 0 : 1);
    // gnuplot gives a legend as high as the axes more columns than it has room for.
    const int rows_of_name = 1 + static_cast<int>(lines_of_names(layout, panel.y));
    const int rows =
        panel.y.ticks.empty()
            ? std::max({least_rows, legend + 1, size.rows - layout.top - layout.bottom})
            : rows_of_name * static_cast<int>(std::lround(panel.y.high - panel.y.low)) + 1;
    layout.size.rows = rows + layout.top + layout.bottom;

    Cells cells(layout);
    const int last_column = layout.size.columns - 1 - layout.right;
    const int last_row = layout.size.rows - 1 - layout.top;
    if (!panel.y.title.empty()) {
        cells.put(1, last_row + 1, panel.y.title, last_row + 1, last_row + 1);
    }
    for (const auto& [at, name] : panel.x.ticks) {
        const int column = cell_of(panel.x, at, layout.left, last_column) - width_of(name) / 2;
        cells.put(column, layout.bottom - 1, name, layout.bottom - names, layout.bottom - 1);
    }
    const AxesCells axes{layout.left, last_column, layout.bottom, last_row};
    if (layout.names_above) {
        put_names_above(layout, panel.y, axes);
    }
    for (const Series& series : panel.series) {
        if (is_marked(series)) {
            cells.keep_free(cells_of(panel, axes, series));
        }
    }
    for (const ChartText& text : panel.texts) {
        const bool beside = text.x > panel.x.high;
        const bool found = beside && layout.right == margin ? false
                           : beside       ? put_beside(cells, layout, panel, axes, text)
                           : text.towards ? put_along(cells, panel, axes, text, *text.towards)
                                          : put_near(cells, panel, axes, text);
        if (!found) {
            layout.without_room.push_back(text.text);
        }
    }
    return layout;
}

bool is_marked(const Series& series) {
    return series.mark != Mark::none || series.beside != Mark::none;
}

std::vector<TerminalCell> terminal_cells(const Panel& panel, TerminalSize size,
                                         const Series& series) {
    const TerminalLayout layout = terminal_layout(panel, size);
    return cells_of(panel,
                    {layout.left, layout.size.columns - 1 - layout.right, layout.bottom,
                     layout.size.rows - 1 - layout.top},
                    series);
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "plot/terminal_layout.hpp"

#include <algorithm>
#include <cmath>

#include "plot/placement.hpp"

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

// Words that stand right of the axes.
int widest_beside(const Panel& panel) {
    int widest = 0;
    for (const ChartText& text : panel.texts) {
        widest = text.x > panel.x.high ? std::max(widest, width_of(text.text)) : widest;
    }
    return widest;
}

// Puts words into cells that no others have.
class Cells {
public:
    explicit Cells(TerminalLayout& layout) : layout_(layout) {}

    /// As near to a row as possible, the rows in [low, high] only.
    void put(int column, int row, const std::string& text, int low, int high) {
        column = std::clamp(column, 0, std::max(0, layout_.size.columns - width_of(text)));
        for (int away = 0; away <= high - low; ++away) {
            for (const int at : {row - away, row + away}) {
                if (at >= low && at <= high && is_free(column, at, width_of(text))) {
                    layout_.words.push_back({column, at, text});
                    return;
                }
            }
        }
    }

private:
    [[nodiscard]] bool is_free(int column, int row, int width) const {
        return std::ranges::none_of(layout_.words, [&](const CellText& word) {
            return word.row == row && column <= word.column + width_of(word.text) &&
                   word.column <= column + width;
        });
    }
    TerminalLayout& layout_;
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

// Names of the x axis that are longer than their share of it stand on rows below each other.
int rows_of_names(const Panel& panel, int columns) {
    if (panel.x.ticks.empty()) {
        return 1;
    }
    const int share = std::max(1, columns / static_cast<int>(panel.x.ticks.size()));
    return std::clamp(widest_tick(panel.x) / share + 1, 1, static_cast<int>(panel.x.ticks.size()));
}

}  // namespace

Axis terminal_rows(Axis y) {
    if (!y.ticks.empty() && !y.logarithmic) {
        const auto [low, high] =
            std::ranges::minmax(y.ticks, {}, [](const auto& t) { return t.first; });
        y.low = std::floor(low.first) - 1;
        y.high = std::ceil(high.first) + 1;
    }
    return y;
}

TerminalLayout terminal_layout(const Panel& given, TerminalSize size) {
    Panel panel = given;
    panel.y = terminal_rows(given.y);
    constexpr int least_columns = 24;
    constexpr int least_rows = 8;
    TerminalLayout layout;
    layout.left = widest_tick(panel.y) + 3;
    layout.right = std::max(3, widest_beside(panel) + 2);
    layout.size.columns = std::max(size.columns, layout.left + layout.right + least_columns);
    constexpr double sample = 8;  // with the space around it
    layout.legend = legend_of(panel, layout.size.columns, 1, sample);
    const int legend = std::max(1, static_cast<int>(layout.legend.rows));
    const int names = rows_of_names(panel, layout.size.columns - layout.left - layout.right);
    layout.bottom = 1 + names + (panel.x.title.empty() ? 0 : 1) + legend + 1;
    layout.top = (panel.title.empty() ? 1 : 2) + (panel.y.title.empty() ? 0 : 1);
    // gnuplot gives a legend as high as the axes more columns than it has room for.
    const int axes =
        panel.y.ticks.empty()
            ? std::max({least_rows, legend + 1, size.rows - layout.top - layout.bottom})
            : static_cast<int>(std::lround(panel.y.high - panel.y.low)) + 1;
    layout.size.rows = axes + layout.top + layout.bottom;

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
    for (const ChartText& text : panel.texts) {
        const int column =
            std::min(cell_of(panel.x, text.x, layout.left, last_column), last_column + 2);
        const int row = cell_of(panel.y, text.y, layout.bottom, last_row) -
                        static_cast<int>(std::lround(text.lines_below));
        cells.put(begin_of(text, column), std::clamp(row, layout.bottom + 1, last_row), text.text,
                  layout.bottom + 1, last_row);
    }
    return layout;
}

std::vector<TerminalCell> terminal_cells(const Panel& panel, TerminalSize size,
                                         const Series& series) {
    const TerminalLayout layout = terminal_layout(panel, size);
    std::vector<TerminalCell> cells;
    for (const ChartPoint& point : series.points) {
        if (std::isfinite(point.x) && std::isfinite(point.y)) {
            cells.emplace_back(
                cell_of(panel.x, point.x, layout.left, layout.size.columns - 1 - layout.right),
                cell_of(panel.y, point.y, layout.bottom, layout.size.rows - 1 - layout.top));
        }
    }
    return cells;
}

}  // namespace raceline

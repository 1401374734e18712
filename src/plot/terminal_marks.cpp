// SPDX-License-Identifier: Apache-2.0
#include "plot/terminal_marks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace raceline {
namespace {

using LetterCells = std::vector<std::pair<char, std::vector<TerminalCell>>>;

// In the order in which they are drawn.
LetterCells letter_cells(const Panel& panel, TerminalSize size) {
    Letters letters;
    LetterCells all;
    for (const Series& series : panel.series) {
        if (is_drawn(series) && is_marked(series)) {
            all.emplace_back(letters.of(series), terminal_cells(panel, size, series));
        }
    }
    return all;
}

// Letters of which no mark is seen.
std::string hidden_letters(const LetterCells& all, const std::map<TerminalCell, char>& shown) {
    std::string text;
    for (const auto& [letter, cells] : all) {
        std::set<char> above;
        for (const TerminalCell& cell : cells) {
            above.insert(shown.at(cell));
        }
        if (!cells.empty() && !above.contains(letter)) {
            text += fmt::format("{}{} under {}", text.empty() ? "" : ", ", letter,
                                fmt::join(above, " and "));
        }
    }
    return text.empty() ? "" : "Marks that none is seen of: " + text + ".";
}

// How often each letter stands under each other.
std::string counted_marks(const LetterCells& all, const std::map<TerminalCell, char>& shown) {
    std::map<std::pair<char, char>, int> pairs;
    std::size_t marks = 0;
    int hidden = 0;
    for (const auto& [letter, cells] : all) {
        marks += cells.size();
        for (const TerminalCell& cell : cells) {
            if (const char above = shown.at(cell); above != letter) {
                ++pairs[{letter, above}];
                ++hidden;
            }
        }
    }
    if (hidden == 0) {
        return "";
    }
    std::vector<std::string> said;
    said.reserve(pairs.size());
    for (const auto& [pair, count] : pairs) {
        said.push_back(fmt::format("{} under {}{}", pair.first, pair.second,
                                   count == 1 ? "" : fmt::format(" {} times", count)));
    }
    return fmt::format("{} of {} marks {} under another: {}.", hidden, marks,
                       hidden == 1 ? "stands" : "stand", fmt::join(said, ", "));
}

bool any_series(const Chart& chart, bool (*holds)(const Series&)) {
    return std::ranges::any_of(chart.panels, [&](const Panel& panel) {
        return std::ranges::any_of(
            panel.series, [&](const Series& series) { return is_drawn(series) && holds(series); });
    });
}

}  // namespace

char Letters::of(const Series& series) {
    const bool line = series.mark == Mark::none;
    const std::pair look(series.colour, line ? series.beside : series.mark);
    const auto at = std::ranges::find(looks_, look);
    const auto number = static_cast<int>(at - looks_.begin()) % 26;
    if (at == looks_.end()) {
        looks_.push_back(look);
    }
    return static_cast<char>((series.filled && !line ? 'A' : 'a') + number);
}

std::string letters_look(const Series& series, Letters& letters) {
    return fmt::format("with points pt '{}'", letters.of(series));
}

std::string bars_look(Bars bars) {
    return fmt::format("with {} lt -1 pt ' '", bars == Bars::along_x ? "xerrorbars" : "yerrorbars");
}

std::string line_among_bars_look() {
    return "with lines lt -1";
}

bool has_bars_along_x(const Panel& panel) {
    return std::ranges::any_of(panel.series,
                               [](const Series& series) { return series.bars == Bars::along_x; });
}

std::string hidden_marks(const Panel& given, TerminalSize size) {
    const Panel panel = terminal_panel(given);
    const LetterCells all = letter_cells(panel, size);
    std::map<TerminalCell, char> shown;
    for (const auto& [letter, cells] : all) {
        for (const TerminalCell& cell : cells) {
            shown[cell] = letter;
        }
    }
    return has_bars_along_x(panel) ? counted_marks(all, shown) : hidden_letters(all, shown);
}

std::string words_without_room(const Panel& panel, TerminalSize size) {
    std::vector<std::string> words = terminal_layout(panel, size).without_room;
    std::erase_if(words, [&](const std::string& word) {  // the legend has it
        return std::ranges::any_of(panel.series, [&](const Series& series) {
            return series.title.find(word) != std::string::npos;
        });
    });
    return words.empty()
               ? ""
               : fmt::format("Words that have no room in the drawing: {}.", fmt::join(words, ", "));
}

std::string letters_key(const Chart& chart) {
    const bool hollow = any_series(
        chart, [](const Series& series) { return series.mark != Mark::none && !series.filled; });
    const bool lines =
        any_series(chart, [](const Series& series) { return series.beside != Mark::none; });
    const bool bars =
        any_series(chart, [](const Series& series) { return series.bars == Bars::along_x; });
    return std::string(hollow  ? " Small letters are hollow marks, capitals filled ones."
                       : lines ? " Small letters are predictions."
                               : "") +
           (bars ? " The signs - and + are bars, and the line of | is 1." : "");
}

bool is_drawn(const Series& series) {
    return std::ranges::any_of(series.points, [](const ChartPoint& point) {
        return std::isfinite(point.x) && std::isfinite(point.y);
    });
}

}  // namespace raceline

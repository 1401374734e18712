// SPDX-License-Identifier: Apache-2.0
#include "plot/legend.hpp"

#include <algorithm>

#include "plot/placement.hpp"
#include "support/rounding.hpp"

namespace raceline {

namespace {

// Words with the spaces after them; of one that is longer than a line what ends on a comma.
std::vector<std::string> pieces_of(const std::string& title, std::size_t most) {
    std::vector<std::string> pieces;
    for (std::size_t begin = 0; begin < title.size();) {
        const std::size_t end = std::min(title.find(' ', begin), title.size());
        const bool is_long = letters(title.substr(begin, end - begin)) > most;
        while (begin < end) {
            const std::size_t comma = is_long ? title.find(',', begin) : end;
            const std::size_t last = comma < end ? comma : end;
            pieces.push_back(title.substr(begin, last + 1 - begin));
            begin = last + 1;
        }
        begin = std::max(begin, end + 1);
    }
    return pieces;
}

std::string without_end_spaces(const std::string& text) {
    return text.substr(0, text.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<std::string> legend_lines(const std::string& title, std::size_t most) {
    std::vector<std::string> lines;
    for (const std::string& piece : pieces_of(title, most)) {
        if (!lines.empty() && letters(without_end_spaces(lines.back() + piece)) <= most) {
            lines.back() += piece;
        } else {
            lines.push_back(piece);
        }
    }
    std::ranges::transform(lines, lines.begin(), without_end_spaces);
    return lines;
}

Legend legend_of(const Panel& panel, double width, double letter, double sample) {
    constexpr double least = 20;
    const auto most = static_cast<std::size_t>(std::max(least, (width - sample) / letter));
    std::size_t entries = 0;
    std::size_t longest = 1;
    for (const Series& series : panel.series) {
        entries += series.title.empty() ? 0 : 1;
        longest = std::max(longest, letters(series.title));
    }
    if (longest <= most) {
        const double entry = static_cast<double>(longest) * letter + sample;
        const auto across = static_cast<std::size_t>(std::max(1.0, width / entry));
        return {.rows = divide_up(entries, across), .most = most};
    }
    // One below the other: the lines of an entry stay together.
    Legend legend{.rows = 0, .most = most};
    for (const Series& series : panel.series) {
        legend.rows += series.title.empty() ? 0 : legend_lines(series.title, most).size();
    }
    return legend;
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "support/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/check.hpp"

namespace raceline {
namespace {

// Code points: every byte of UTF-8 but the continuation bytes 10xxxxxx.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::string padded(const std::string& cell, std::size_t columns, TextTable::Align align) {
    const std::string space(columns - std::min(columns, width(cell)), ' ');
    return align == TextTable::Align::left ? cell + space : space + cell;
}

// Three significant digits of a value that is below 1000 in its prefix.
std::string three_digits(double value) {
    const double size = std::abs(value);
    // 9.995 would print as 10.00: the digit count follows the rounded value.
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f}", value, decimals);
}

constexpr double longest_number = 1e6;

// Neither more digits than a person counts, nor none but zeros.
bool is_readable(double value) {
    const double size = std::abs(value);
    return size < longest_number && size >= 0.005;
}

struct Prefix {
    double factor;
    std::string_view symbol;
};

std::string with_prefix(double value, std::string_view unit, const Prefix* first,
                        const Prefix* last) {
    std::string text;
    if (!std::isfinite(value) || value == 0) {
        text = fmt::format("{} {}", value, unit);
    } else {
        // The next prefix starts where three digits would round up to 1000.
        const Prefix* at = first;
        while (at + 1 != last && std::abs(value) >= (at + 1)->factor * 0.9995) {
            ++at;
        }
        const double scaled = value / at->factor;
        text = is_readable(scaled) ? fmt::format("{} {}{}", three_digits(scaled), at->symbol, unit)
                                   : fmt::format("{:.2e} {}", value, unit);
    }
    if (text.back() == ' ') {
        text.pop_back();
    }
    return text;
}

constexpr std::array<Prefix, 5> time_prefixes{
    {{1e-12, "p"}, {1e-9, "n"}, {1e-6, "µ"}, {1e-3, "m"}, {1, ""}}};
constexpr std::array<Prefix, 10> si_prefixes{{{1e-9, "n"},
                                              {1e-6, "µ"},
                                              {1e-3, "m"},
                                              {1, ""},
                                              {1e3, "k"},
                                              {1e6, "M"},
                                              {1e9, "G"},
                                              {1e12, "T"},
                                              {1e15, "P"},
                                              {1e18, "E"}}};

std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

std::string markdown_cell(const std::string& cell) {
    std::string out;
    for (const char c : cell) {
        out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    }
    return out;
}

std::vector<TextTable::Column> columns_of(std::string_view heading) {
    constexpr std::string_view between = " | ";
    std::vector<TextTable::Column> columns;
    for (std::size_t begin = 0; begin <= heading.size();) {
        const std::size_t end = std::min(heading.find(between, begin), heading.size());
        std::string_view title = heading.substr(begin, end - begin);
        const bool number = title.starts_with('>');
        title.remove_prefix(number ? 1 : 0);
        columns.push_back(
            {std::string(title), number ? TextTable::Align::right : TextTable::Align::left});
        begin = end + between.size();
    }
    return columns;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

TextTable::TextTable(std::string_view heading) : TextTable(columns_of(heading)) {}

void TextTable::add(std::vector<std::string> cells) {
    require(cells.size() == columns_.size(), Status::internal,
            "a table of {} columns was given a row of {} cells", columns_.size(), cells.size());
    rows_.push_back(std::move(cells));
}

std::string TextTable::str() const {
    std::vector<std::size_t> widths;
    std::vector<std::string> titles;
    std::vector<std::string> rules;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        titles.push_back(columns_[c].title);
        widths.push_back(width(titles.back()));
        for (const auto& row : rows_) {
            widths.back() = std::max(widths.back(), width(row[c]));
        }
        rules.emplace_back(widths.back(), '-');
    }
    std::string text;
    const auto put = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t c = 0; c < cells.size(); ++c) {
            line += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], columns_[c].align);
        }
        text += trimmed(std::move(line)) + '\n';
    };
    put(titles);
    put(rules);
    std::for_each(rows_.begin(), rows_.end(), put);
    return text;
}

std::string TextTable::markdown() const {
    std::string text = "|";
    for (const Column& column : columns_) {
        text += " " + markdown_cell(column.title) + " |";
    }
    text += "\n|";
    for (const Column& column : columns_) {
        text += column.align == Align::left ? "---|" : "---:|";
    }
    text += '\n';
    for (const auto& row : rows_) {
        text += "|";
        for (const std::string& cell : row) {
            text += " " + markdown_cell(cell) + " |";
        }
        text += '\n';
    }
    return text;
}

std::string format_seconds(double seconds) {
    return with_prefix(seconds, "s", time_prefixes.begin(), time_prefixes.end());
}

std::string format_fixed(double value, int decimals) {
    return std::abs(value) < longest_number || !std::isfinite(value)
               ? fmt::format("{:.{}f}", value, decimals)
               : fmt::format("{:.2e}", value);
}

std::string format_signed_percent(double share, int decimals) {
    std::string text = (std::signbit(share) ? "" : "+") + format_fixed(100 * share, decimals);
    if (text.find_first_of("123456789nf") == std::string::npos) {  // "nan" and "inf" stay
        text.erase(0, 1);
    }
    return text + " %";
}

std::string format_si(double value, std::string_view unit) {
    return with_prefix(value, unit, si_prefixes.begin(), si_prefixes.end());
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "support/text_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "support/check.hpp"
#include "support/one_line.hpp"
#include "support/table_layout.hpp"

namespace raceline {
namespace {

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
constexpr std::array<Prefix, 11> si_prefixes{{{1e-12, "p"},
                                              {1e-9, "n"},
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

// Takes "?N " from the beginning of a title.
int take_priority(std::string_view& title) {
    if (!title.starts_with('?')) {
        return TextTable::always;
    }
    int priority = 0;
    const auto [end, error] =
        std::from_chars(title.data() + 1, title.data() + title.size(), priority);
    require(error == std::errc() && end != title.data() + title.size() && *end == ' ',
            Status::internal, "'{}' begins with no priority such as ?2", title);
    title.remove_prefix(static_cast<std::size_t>(end - title.data()) + 1);
    return priority;
}

std::vector<TextTable::Column> columns_of(std::string_view heading) {
    constexpr std::string_view between = " | ";
    std::vector<TextTable::Column> columns;
    for (std::size_t begin = 0; begin <= heading.size();) {
        const std::size_t end = std::min(heading.find(between, begin), heading.size());
        std::string_view title = heading.substr(begin, end - begin);
        TextTable::Column column;
        if (title.starts_with('>')) {
            column.align = TextTable::Align::right;
            title.remove_prefix(1);
        }
        column.priority = take_priority(title);
        column.title = title;
        columns.push_back(std::move(column));
        begin = end + between.size();
    }
    return columns;
}

std::string padded(const std::string& cell, std::size_t width, TextTable::Align align, Ink ink,
                   const TextStyle& style) {
    const std::string space(width - std::min(width, text_width(cell)), ' ');
    const std::string text = inked(cell, ink, style);
    return align == TextTable::Align::left ? text + space : space + text;
}

// The lines of a table, one row after the other.
class TableText {
public:
    TableText(const std::vector<TextTable::Column>& columns, const TableLayout& layout,
              const TextStyle& style)
        : columns_(columns), layout_(layout), style_(style) {}

    /// A row of the table; `ink_of` says that of each cell.
    template <class InkOf>
    void add(const std::vector<std::string>& cells, const InkOf& ink_of) {
        std::vector<std::vector<std::string>> broken;
        std::size_t height = 1;
        for (const TableLayout::Shown& shown : layout_.shown) {
            broken.push_back(broken_lines(cells[shown.column], shown.width));
            height = std::max(height, broken.back().size());
        }
        for (std::size_t at = 0; at < height; ++at) {
            std::string line;
            for (std::size_t i = 0; i < broken.size(); ++i) {
                const TableLayout::Shown& shown = layout_.shown[i];
                const std::string part = at < broken[i].size() ? broken[i][at] : "";
                line += (i == 0 ? "" : "  ") +
                        padded(part, shown.width, columns_[shown.column].align,
                               ink_of(columns_[shown.column], cells[shown.column]), style_);
            }
            text += trimmed(std::move(line)) + '\n';
        }
    }
    std::string text;

private:
    const std::vector<TextTable::Column>& columns_;
    const TableLayout& layout_;
    const TextStyle& style_;
};

std::string listed(const std::vector<std::string>& titles) {
    std::string text;
    for (const std::string& title : titles) {
        text += (text.empty() ? "" : ", ") + title;
    }
    return text;
}

std::string in_lines(const std::string& text, Ink ink, const TextStyle& style) {
    std::string lines;
    for (const std::string& line : broken_lines(text, style.columns)) {
        lines += inked(line, ink, style) + '\n';
    }
    return lines;
}

// What a narrow table says once, what it lacks, and how to see that.
std::string remarks_of(const TableLayout& layout, const TextStyle& style) {
    std::string same;
    if (!layout.same.empty()) {
        same = in_lines("in all rows: " + listed(layout.same), Ink::plain, style);
    }
    std::string lacks;
    if (!layout.left_out.empty()) {
        lacks = "left out for lack of room: " + listed(layout.left_out);
    }
    if (!layout.shortened.empty()) {
        lacks +=
            (lacks.empty() ? "" : "; ") + std::string("shortened: ") + listed(layout.shortened);
    }
    return same + (lacks.empty() ? "" : in_lines(lacks + "; --wide shows all", Ink::hint, style));
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

TextTable::TextTable(std::string_view heading) : TextTable(columns_of(heading)) {}

void TextTable::add(std::vector<std::string> cells) {
    require(cells.size() == columns_.size(), Status::internal,
            "a table of {} columns was given a row of {} cells", columns_.size(), cells.size());
    rows_.push_back(std::move(cells));
}

TextTable::Column& TextTable::column(std::string_view title) {
    const auto found = std::ranges::find(columns_, title, &Column::title);
    require(found != columns_.end(), Status::internal, "a table has no column '{}'", title);
    return *found;
}

std::string TextTable::str(const TextStyle& style) const {
    std::vector<std::vector<std::string>> rows = rows_;
    for (auto& row : rows) {  // names come from anywhere
        std::ranges::transform(row, row.begin(), one_line);
    }
    const TableLayout layout = table_layout(columns_, rows, style.columns);
    std::vector<std::string> titles;
    titles.reserve(columns_.size());
    std::vector<std::string> rules(columns_.size());
    for (const Column& column : columns_) {
        titles.push_back(column.title);
    }
    for (const TableLayout::Shown& shown : layout.shown) {
        rules[shown.column] = std::string(shown.width, '-');
    }
    TableText table(columns_, layout, style);
    table.add(titles, [](const Column&, const std::string&) { return Ink::heading; });
    table.add(rules, [](const Column&, const std::string&) { return Ink::hint; });
    for (const auto& row : rows) {
        table.add(row, [](const Column& column, const std::string& cell) {
            return column.ink == nullptr ? Ink::plain : column.ink(cell);
        });
    }
    return table.text + remarks_of(layout, style);
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

std::string format_percent(double share, int decimals) {
    return format_fixed(100 * share, decimals) + " %";
}

std::string format_number(double value) {
    return std::abs(value) >= 1000 ? format_fixed(value, 0) : fmt::format("{:.3g}", value);
}

std::string format_quantity(double value, std::string_view unit) {
    return unit == "s"        ? format_seconds(value)
           : unit == "1"      ? format_number(value)
           : unit == "byte/s" ? format_si(value, "B/s")
           : unit == "flop/s" ? format_si(value, "FLOP/s")
                              : format_si(value, unit);
}

std::string counted_text(std::size_t count, std::string_view one, std::string_view many) {
    return count == 1     ? fmt::format("1 {}", one)
           : many.empty() ? fmt::format("{} {}s", count, one)
                          : fmt::format("{} {}", count, many);
}

std::string format_si(double value, std::string_view unit) {
    return with_prefix(value, unit, si_prefixes.begin(), si_prefixes.end());
}

}  // namespace raceline

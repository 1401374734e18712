// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/text_style.hpp"

namespace raceline {

/// A table for a terminal: columns padded to their widest cell (counted in columns of a terminal),
/// numbers right-aligned, a rule under the header. Rows are only collected; `str` lays them out.
class TextTable {
public:
    enum class Align { left, right };
    static constexpr int always = 1000;
    struct Column {
        std::string title;
        Align align = Align::left;
        /// Where a table is too wide, columns leave it, the one of the lowest priority first, of
        /// equal ones the last; `always` stays. What tells one row from another has `always`.
        int priority = always;
        /// The cells may be broken into lines of this many characters at least, before a column of
        /// `broken_before` or a higher priority leaves. 0: broken only where nothing else helps.
        std::size_t least = 0;
        int broken_before = 0;
        /// A shorter form of a cell, taken where the table is too wide, unless two rows would look
        /// the same for it. What does not tell all that the cell does has an ellipsis, and a remark
        /// below the table says so.
        std::string (*shortened)(std::string_view cell) = nullptr;
        Ink (*ink)(std::string_view cell) = nullptr;
    };
    explicit TextTable(std::vector<Column> columns);
    /// The same written as a line: titles with " | " between them, ">" before one of numbers, and
    /// "?N " before one of priority N: "rung | shape | >time | >?2 error".
    explicit TextTable(std::string_view heading);

    /// The column that has this title, to be given what a line cannot say.
    Column& column(std::string_view title);

    void add(std::vector<std::string> cells);  ///< throws if the cell count differs
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Not wider than the style's columns if that is possible, with a line under it that names
    /// what is left out.
    [[nodiscard]] std::string str(const TextStyle& style = {}) const;
    /// As a page has it. One of more than 100 columns becomes several: columns of which all rows
    /// say the same are said once above, the first column becomes headings where names take much
    /// room, and the others are dealt out, each table with the names of its rows.
    [[nodiscard]] std::string markdown() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `decimals` digits after the point; of a million and more in powers of ten, "1.23e+300", since
/// nobody counts the digits of a longer number.
std::string format_fixed(double value, int decimals);
/// "12.3 µs", "4.56 ms": three significant digits and the SI prefix that fits; where none does, in
/// powers of ten, "1.00e+300 s".
std::string format_seconds(double seconds);
/// 0.034 -> "3 %". `decimals`: digits after the point.
std::string format_percent(double share, int decimals = 0);
/// 0.034 -> "+3 %"; what rounds to nothing has no sign. `decimals`: digits after the point.
std::string format_signed_percent(double share, int decimals = 0);
/// 1234567 -> "1.23 M" + unit, SI (1 k = 1000); beyond the prefixes in powers of ten.
std::string format_si(double value, std::string_view unit);
/// A value in the unit that receipts give it ("s", "flop/s", "byte/s", "op/s", "J", "W", "1"), as
/// the functions above write it: "702 ns", "989 TFLOP/s", "4.62 TB/s".
std::string format_quantity(double value, std::string_view unit);
/// A number without a unit: three significant digits, of a thousand and more all before the point.
std::string format_number(double value);
/// (1, "case") -> "1 case", (2, "case") -> "2 cases". `many`: a plural that has more than an s.
std::string counted_text(std::size_t count, std::string_view one, std::string_view many = {});

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace raceline {

/// A table for a terminal: columns padded to their widest cell (counted in code points), numbers
/// right-aligned, a rule under the header. Rows are only collected; `str` lays them out.
class TextTable {
public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };
    explicit TextTable(std::vector<Column> columns);
    /// The same written as a line: titles with " | " between them, ">" before one of numbers:
    /// "rung | shape | >time".
    explicit TextTable(std::string_view heading);
    void add(std::vector<std::string> cells);  ///< throws if the cell count differs
    [[nodiscard]] std::string str() const;
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
/// 0.034 -> "+3 %"; what rounds to nothing has no sign. `decimals`: digits after the point.
std::string format_signed_percent(double share, int decimals = 0);
/// 1234567 -> "1.23 M" + unit, SI (1 k = 1000); beyond the prefixes in powers of ten.
std::string format_si(double value, std::string_view unit);

}  // namespace raceline

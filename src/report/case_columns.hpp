// SPDX-License-Identifier: Apache-2.0
// Columns that several tables of cases have.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "support/text_table.hpp"

namespace raceline {

/// "shape", which is shortened where a table is too wide, and broken before columns of a priority
/// over `broken_before` leave.
TextTable::Column shape_column(std::string title = "shape", int broken_before = 0);
TextTable::Column limiter_column(int priority, std::string title = "limiter");
/// A column of numbers.
TextTable::Column number_column(std::string title, int priority = TextTable::always);
TextTable::Column text_column(std::string title, int priority = TextTable::always);

/// A time, or nothing where none is known.
std::string time_text(double seconds);

/// A shape for eyes alone: long lists of lengths by their least, largest and number, the type
/// without its field: "h=8/1,q=1,k=1…4096(8),d=64,bf16".
std::string short_shape(std::string_view shape);

/// A shape in a heading: as it is, or where it does not fit into a line beside `others` characters,
/// its short form.
std::string heading_shape(const std::string& shape, const TextStyle& style, std::size_t others = 0);

/// What a bound is of a time, "93 %", or nothing where either is not known.
std::string share_of_bound(double bound, double seconds);

/// Operations in a second; of what has none, as an embedding, the bytes that it has to move.
/// Nothing where no time is known.
std::string achieved_rate(double flops, double bytes, double seconds);

/// pass, hit, faster: good; FAIL, missed, slower: bad.
Ink verdict_ink(std::string_view cell);

/// What the rates of a table's rows are (origins_text), by kernel: where rows differ, a sentence
/// under the table says whose are which, for there a column of rates may have no room.
class RateOrigins {
public:
    void add(const std::string& rates, const std::string& kernel);  ///< of one row; "" counts not
    /// "committed", "committed of prefill_sm90; committed + datasheet of simt", or "".
    [[nodiscard]] std::string text() const;
    /// Whether rows differ, so that each has to say its own.
    [[nodiscard]] bool mixed() const { return kernels_.size() > 1; }

private:
    std::map<std::string, std::map<std::string, std::size_t>>
        kernels_;  // rows, by rates and kernel
};

}  // namespace raceline

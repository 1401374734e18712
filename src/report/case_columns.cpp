// SPDX-License-Identifier: Apache-2.0
#include "report/case_columns.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>
#include <vector>

namespace raceline {
namespace {

constexpr std::size_t least_shape = 24;  // characters of a line of one
constexpr std::string_view type_field = "dtype=";

Ink limiter_ink(std::string_view cell) {
    return cell.empty() ? Ink::plain : Ink::limiter;
}

// "3000;17;1024" as "17…3000(3)"; another text, or one that is not longer, as it is.
std::string short_lengths(std::string_view text) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = 0;
    std::size_t count = 0;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(';'));
        std::int64_t length = 0;
        const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), length);
        if (error != std::errc{} || end != one.data() + one.size()) {
            return std::string(text);
        }
        least = std::min(least, length);
        most = std::max(most, length);
        ++count;
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    std::string range = fmt::format("{}…{}({})", least, most, count);
    return count > 2 && text_width(range) < text.size() ? range : std::string(text);
}

std::string short_field(std::string_view field) {
    if (field.starts_with(type_field)) {
        return std::string(field.substr(type_field.size()));
    }
    const std::size_t equals = field.find('=');
    return field.find(';') == std::string_view::npos || equals == std::string_view::npos
               ? std::string(field)
               : std::string(field.substr(0, equals + 1)) + short_lengths(field.substr(equals + 1));
}

}  // namespace

std::string short_shape(std::string_view shape) {
    std::string text;
    for (std::size_t from = 0; from <= shape.size();) {
        const std::size_t to = std::min(shape.find(',', from), shape.size());
        text += (from == 0 ? "" : ",") + short_field(shape.substr(from, to - from));
        from = to + 1;
    }
    return text;
}

std::string heading_shape(const std::string& shape, const TextStyle& style, std::size_t others) {
    const bool fits = style.columns == 0 || text_width(shape) + others <= style.columns;
    return fits ? shape : short_shape(shape);
}

Ink verdict_ink(std::string_view cell) {
    const bool good = cell == "pass" || cell == "hit" || cell == "faster";
    const bool bad = cell == "FAIL" || cell == "missed" || cell == "slower";
    return good ? Ink::good : bad ? Ink::bad : Ink::plain;
}

TextTable::Column text_column(std::string title, int priority) {
    TextTable::Column column;
    column.title = std::move(title);
    column.priority = priority;
    return column;
}

TextTable::Column number_column(std::string title, int priority) {
    TextTable::Column column = text_column(std::move(title), priority);
    column.align = TextTable::Align::right;
    return column;
}

TextTable::Column shape_column(std::string title, int broken_before) {
    TextTable::Column column = text_column(std::move(title));
    column.least = least_shape;
    column.broken_before = broken_before;
    column.shortened = short_shape;
    return column;
}

TextTable::Column limiter_column(int priority, std::string title) {
    TextTable::Column column = text_column(std::move(title), priority);
    column.ink = limiter_ink;
    return column;
}

std::string time_text(double seconds) {
    return seconds > 0 ? format_seconds(seconds) : "";
}

std::string share_of_bound(double bound, double seconds) {
    return bound > 0 && seconds > 0 ? format_percent(bound / seconds) : "";
}

std::string achieved_rate(double flops, double bytes, double seconds) {
    return seconds <= 0 ? ""
           : flops > 0  ? format_si(flops / seconds, "FLOP/s")
                        : format_si(bytes / seconds, "B/s");
}

void RateOrigins::add(const std::string& rates, const std::string& kernel) {
    if (!rates.empty()) {
        ++kernels_[rates][kernel];
    }
}

std::string RateOrigins::text() const {
    if (kernels_.size() < 2) {
        return kernels_.empty() ? "" : kernels_.begin()->first;
    }
    std::map<std::string, int> kinds;  // of a kernel's rows
    for (const auto& [rates, kernels] : kernels_) {
        for (const auto& [kernel, rows] : kernels) {
            ++kinds[kernel];
        }
    }
    std::vector<std::string> parts;
    for (const auto& [rates, kernels] : kernels_) {
        std::vector<std::string> names;
        for (const auto& [kernel, rows] : kernels) {
            names.push_back(kinds.at(kernel) > 1
                                ? fmt::format("{} ({})", kernel, counted_text(rows, "row"))
                                : kernel);
        }
        parts.push_back(fmt::format("{} of {}", rates, fmt::join(names, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "page/row_columns.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace raceline {
namespace {

constexpr char gap = '\1';
constexpr char part = '\2';
constexpr std::size_t long_value = 12;  // as in page/data.js

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f');
}
bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <typename Is>
std::size_t run_of(std::string_view text, std::size_t at, Is is) {
    std::size_t end = at;
    while (end < text.size() && is(text[end])) {
        ++end;
    }
    return end - at;
}

// How many letters at this place are a value: a hash, a list of numbers, or a number; 0 if none.
std::size_t value_at(std::string_view text, std::size_t at) {
    constexpr std::size_t least_hash = 16;
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && is_hex(text[at])) {
        if (const std::size_t hash = run_of(text, at, is_hex); hash >= least_hash) {
            return hash;
        }
    }
    if (text[at] == '[') {
        const std::size_t inside = run_of(text, at + 1, [](char c) {
            return is_digit(c) || std::string_view("-+.,e").find(c) != std::string_view::npos;
        });
        const std::size_t end = at + 1 + inside;
        return inside > 0 && end < text.size() && text[end] == ']' ? inside + 2 : 0;
    }
    if (!is_digit(text[at])) {
        return 0;
    }
    std::size_t number = run_of(text, at, [](char c) { return is_digit(c) || c == '.'; });
    if (at + number < text.size() && text[at + number] == 'e') {
        std::size_t exponent = at + number + 1;
        exponent += exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+');
        if (const std::size_t digits = run_of(text, exponent, is_digit); digits > 0) {
            number = exponent + digits - at;
        }
    }
    return number;
}

struct Template {
    std::size_t number;
    std::vector<std::size_t> columns;  // of its gaps
};

class Columns {
public:
    void add(std::string_view line) {
        std::string shape;
        std::vector<std::string_view> values;
        for (std::size_t at = 0; at < line.size();) {
            if (const std::size_t length = value_at(line, at); length > 0) {
                values.push_back(line.substr(at, length));
                shape += gap;
                at += length;
            } else {
                shape += line[at++];
            }
        }
        const Template& its = template_of(shape);
        order_ += (order_.empty() ? "" : ",") + std::to_string(its.number);
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::string& column = columns_[its.columns[i]];
            column += (column.empty() ? "" : "\n") + short_form(values[i]);
        }
    }

    [[nodiscard]] std::string text() const {
        std::string all = "c" + shapes_ + part + order_;
        for (const std::string& column : columns_) {
            all += part + column;
        }
        return all;
    }

private:
    const Template& template_of(const std::string& shape) {
        const auto [known, is_new] = templates_.try_emplace(shape, Template{templates_.size(), {}});
        Template& its = known->second;
        if (is_new) {
            shapes_ += (its.number == 0 ? "" : "\n") + shape;
            for (std::size_t from = 0, to = 0; (to = shape.find(gap, from)) != std::string::npos;
                 from = to + 1) {
                const auto [column, fresh] =
                    numbers_.try_emplace(shape.substr(from, to - from), columns_.size());
                if (fresh) {
                    columns_.emplace_back();
                }
                its.columns.push_back(column->second);
            }
        }
        return its;
    }

    // A long value that was there before: how many long ones ago.
    std::string short_form(std::string_view value) {
        if (value.size() < long_value) {
            return std::string(value);
        }
        const auto [known, is_new] = seen_.try_emplace(std::string(value), count_);
        std::string text = is_new ? known->first : "~" + std::to_string(count_ - known->second);
        known->second = count_++;
        return text;
    }

    std::map<std::string, Template> templates_;
    std::map<std::string, std::size_t> numbers_;  // of columns, by what stands before their gaps
    std::vector<std::string> columns_;
    std::string shapes_, order_;
    std::unordered_map<std::string, std::size_t> seen_;
    std::size_t count_ = 0;
};

}  // namespace

std::string row_columns(std::span<const std::string> lines) {
    const bool plain = std::ranges::any_of(lines, [](const std::string& line) {
        return line.find(gap) != std::string::npos || line.find(part) != std::string::npos;
    });
    if (plain) {
        std::string all = "p";
        for (const std::string& line : lines) {
            all += (all.size() == 1 ? "" : "\n") + line;
        }
        return all;
    }
    Columns columns;
    for (const std::string& line : lines) {
        columns.add(line);
    }
    return columns.text();
}

}  // namespace raceline

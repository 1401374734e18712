// SPDX-License-Identifier: Apache-2.0
#include "workload/shape_field.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "support/check.hpp"

namespace raceline {

std::string in_quotes(std::string_view text) {
    constexpr std::size_t most = 40;
    return fmt::format("'{}{}'", text.substr(0, most), text.size() > most ? "…" : "");
}

std::int64_t parse_count(std::string_view field, std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc{} && end == text.data() + text.size() && value >= 0 &&
                value <= std::numeric_limits<std::int32_t>::max(),
            Status::invalid_argument,
            "shape field '{}': {} is not a whole number from 0 to 2147483647", field,
            in_quotes(text));
    return value;
}

double parse_real(std::string_view field, std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(error == std::errc{} && end == text.data() + text.size() && std::isfinite(value),
            Status::invalid_argument, "shape field '{}': {} is not a finite number", field,
            in_quotes(text));
    return value;
}

std::vector<std::string_view> split_fields(std::string_view text) {
    std::vector<std::string_view> fields;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(',', from), text.size());
        std::string_view field = text.substr(from, to - from);
        while (field.starts_with(' ')) {
            field.remove_prefix(1);
        }
        while (field.ends_with(' ')) {
            field.remove_suffix(1);
        }
        require(!field.empty(), Status::invalid_argument,
                "the shape has an empty field at character {}", from + 1);
        fields.push_back(field);
        from = to + 1;
    }
    return fields;
}

}  // namespace raceline

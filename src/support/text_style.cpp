// SPDX-License-Identifier: Apache-2.0
#include "support/text_style.hpp"

#include <algorithm>
#include <array>

namespace raceline {
namespace {

// Codes of ISO 6429 that every terminal with colours knows, on a dark ground or a light one.
std::string_view code_of(Ink ink) {
    constexpr std::array<std::string_view, 6> codes{"", "1", "1;36", "32", "1;31", "2"};
    return codes.at(static_cast<std::size_t>(ink));
}

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Where the first `columns` characters end.
std::size_t end_of_columns(std::string_view text, std::size_t columns) {
    for (std::size_t at = 0, seen = 0; at < text.size(); ++at) {
        if (begins_character(text[at]) && seen++ == columns) {
            return at;
        }
    }
    return text.size();
}

// How much of a text that is longer than `end` stands in its first line: up to a space in its
// second half, else up to whatever parts it last, which of names is an underscore.
std::size_t break_before(std::string_view text, std::size_t end) {
    if (const std::size_t space = text.rfind(' ', end);
        space != std::string_view::npos && 2 * space > end) {
        return space;
    }
    for (std::size_t at = end; at > 0; --at) {
        const char last = text[at - 1];
        if (text[at] == ' ' || last == ',' || last == ';' || last == '/') {
            return at;
        }
    }
    const std::size_t underscore = text.rfind('_', end - std::min<std::size_t>(end, 1));
    return underscore == std::string_view::npos || 2 * underscore < end ? end : underscore + 1;
}

// Where the line ends so that no path is broken, if one stands at `at`: before the path, or behind
// one that begins the line.
std::size_t outside_path(std::string_view text, std::size_t at) {
    const std::size_t space = text.rfind(' ', at == 0 ? 0 : at - 1);
    const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
    const std::string_view word = text.substr(begin, text.find(' ', begin) - begin);
    const bool path = word.starts_with('/') || word.starts_with("./") || word.starts_with("~/");
    if (!path || at >= begin + word.size()) {
        return at;
    }
    return begin > 0 ? begin - 1 : word.size();
}

}  // namespace

std::string inked(std::string_view text, Ink ink, const TextStyle& style) {
    if (!style.colour || ink == Ink::plain || text.empty()) {
        return std::string(text);
    }
    return "\x1b[" + std::string(code_of(ink)) + "m" + std::string(text) + "\x1b[0m";
}

std::size_t text_width(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::vector<std::string> broken_lines(std::string_view text, std::size_t columns,
                                      bool whole_paths) {
    std::vector<std::string> lines;
    const std::size_t most = columns == 0 ? text.size() : columns;
    while (text_width(text) > most) {
        std::size_t at = break_before(text, end_of_columns(text, most));
        at = whole_paths ? outside_path(text, at) : at;
        lines.emplace_back(text.substr(0, at));
        text.remove_prefix(at);
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    if (!text.empty() || lines.empty()) {
        lines.emplace_back(text);
    }
    return lines;
}

std::string paragraph(std::string_view text, const TextStyle& style, std::size_t indent) {
    if (style.columns == 0 || text_width(text) <= style.columns) {
        return std::string(text) + "\n";
    }
    std::string all;
    const std::size_t width = style.columns > indent ? style.columns - indent : 1;
    const std::vector<std::string> first = broken_lines(text, style.columns, true);
    all = first.front() + "\n";
    std::string_view rest = text.substr(first.front().size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    for (const std::string& line : broken_lines(rest, width, true)) {
        all += std::string(indent, ' ') + line + "\n";
    }
    return all;
}

}  // namespace raceline

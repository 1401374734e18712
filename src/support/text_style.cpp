// SPDX-License-Identifier: Apache-2.0
#include "support/text_style.hpp"

#include <algorithm>
#include <array>
#include <span>

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

struct Range {
    char32_t first, last;
};
// Blocks of Unicode whose characters take two columns: East Asian scripts, full-width forms and
// pictographs.
constexpr std::array wide{Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},
                          Range{0xA960, 0xA97C},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
                          Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
                          Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
                          Range{0x20000, 0x3FFFD}};
// Accents that stand on the character before, and marks that show nothing.
constexpr std::array without_width{Range{0x0300, 0x036F}, Range{0x200B, 0x200F},
                                   Range{0x20D0, 0x20F0}, Range{0xFE00, 0xFE0F},
                                   Range{0xFE20, 0xFE2F}};

bool is_in(std::span<const Range> ranges, char32_t code) {
    return std::ranges::any_of(
        ranges, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

struct Character {
    std::size_t bytes, columns;
};

// The one that begins the text, which is not empty.
Character first_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    char32_t code = first < 0x80 ? first
                                 : first & (first >= 0xF0   ? 0x07U
                                            : first >= 0xE0 ? 0x0FU
                                                            : 0x1FU);
    std::size_t bytes = 1;
    for (; bytes < text.size() && !begins_character(text[bytes]); ++bytes) {
        code = code << 6U | (static_cast<unsigned char>(text[bytes]) & 0x3FU);
    }
    return {bytes, is_in(without_width, code) ? 0U : is_in(wide, code) ? 2U : 1U};
}

// Where the first `columns` columns end; behind one character at least.
std::size_t end_of_columns(std::string_view text, std::size_t columns) {
    std::size_t at = 0;
    for (std::size_t seen = 0; at < text.size();) {
        const Character next = first_character(text.substr(at));
        if (seen + next.columns > columns && at > 0) {
            return at;
        }
        seen += next.columns;
        at += next.bytes;
    }
    return at;
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
    std::size_t columns = 0;
    while (!text.empty()) {
        const Character next = first_character(text);
        columns += next.columns;
        text.remove_prefix(next.bytes);
    }
    return columns;
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

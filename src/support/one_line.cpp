// SPDX-License-Identifier: Apache-2.0
#include "support/one_line.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <iterator>

namespace raceline {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the character that begins there; 0 if none does. Overlong forms, surrogates and what
// lies beyond U+10FFFF are no characters; nor, here, are the control characters U+0080 to U+009F.
std::size_t character_at(std::string_view text, std::size_t at) {
    const unsigned first = byte_at(text, at);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    unsigned code = first & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        const unsigned next = byte_at(text, at + i);
        if ((next & 0xC0U) != 0x80) {
            return 0;
        }
        code = code << 6U | (next & 0x3FU);
    }
    const unsigned least = bytes == 2 ? 0xA0 : bytes == 3 ? 0x800 : 0x10000;
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool valid = first >= 0xC0 && first < 0xF8 && code >= least && code <= 0x10FFFF;
    return valid && !surrogate ? bytes : 0;
}

}  // namespace

std::string one_line(std::string_view text) {
    std::string line;
    line.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = character_at(text, at);
        const unsigned char byte = byte_at(text, at);
        if (bytes == 0 || byte < 0x20 || byte == 0x7F) {
            fmt::format_to(std::back_inserter(line), "\\x{:02X}", byte);
            ++at;
        } else {
            line += text.substr(at, bytes);
            at += bytes;
        }
    }
    return line;
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "page/compressed.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/gzip.hpp"

namespace raceline {
namespace {

constexpr std::uint32_t places = 91;
constexpr int pair_bits = 13;   // 2^13 is a little less than 91 * 91
constexpr int single_bits = 6;  // 2^6 is less than 91

constexpr std::array<char, places> letters = [] {
    std::array<char, places> all{};
    std::size_t count = 0;
    for (char letter = '!'; letter <= '~'; ++letter) {
        if (letter != '&' && letter != '<' && letter != '\\') {
            all.at(count++) = letter;
        }
    }
    return all;
}();

std::string in_letters(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 16 / pair_bits + 2);
    std::uint32_t held = 0;
    int bits = 0;
    const auto put_pair = [&](std::uint32_t value) {
        out += letters.at(value / places);
        out += letters.at(value % places);
    };
    for (const char byte : bytes) {
        held = held << 8 | static_cast<unsigned char>(byte);
        bits += 8;
        if (bits >= pair_bits) {
            bits -= pair_bits;
            put_pair(held >> bits);
            held &= (1U << bits) - 1;
        }
    }
    if (bits > single_bits) {
        put_pair(held << (pair_bits - bits));
    } else if (bits > 0) {
        out += letters.at(held << (single_bits - bits));
    }
    return out;
}

}  // namespace

std::string compressed(std::string_view bytes) {
    return in_letters(gzip(bytes));
}

std::string from_base64(std::string_view text) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t held = 0;
    int bits = 0;
    for (const char letter : text) {
        if (const std::size_t digit = digits.find(letter); digit != std::string_view::npos) {
            held = held << 6 | static_cast<std::uint32_t>(digit);
            bits += 6;
        }
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(held >> bits & 0xff);
            held &= (1U << bits) - 1;
        }
    }
    return bytes;
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "page/compressed.hpp"

#include <cstddef>
#include <cstdint>

#include "support/gzip.hpp"

namespace raceline {
namespace {

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t rest = bytes.size() - at;
        std::uint32_t three = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            three = three << 8 | (i < rest ? static_cast<unsigned char>(bytes[at + i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            out += i <= rest ? digits[three >> (18 - 6 * i) & 63] : '=';
        }
    }
    return out;
}

}  // namespace

std::string compressed(std::string_view bytes) {
    return base64(gzip(bytes));
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
#include "support/sha256.hpp"

#include <array>
#include <cstdint>
#include <sha2.h>

namespace raceline {

std::string sha256_hex(std::string_view bytes) {
    SHA2_CTX state;
    SHA256Init(&state);
    // libmd takes a byte pointer; char may alias it.
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
    SHA256Final(digest.data(), &state);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t byte : digest) {
        hex += digits[byte >> 4];
        hex += digits[byte & 15];
    }
    return hex;
}

}  // namespace raceline

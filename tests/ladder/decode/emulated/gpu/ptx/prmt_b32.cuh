// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name, written from the PTX manual.
#pragma once

#include <cstdint>

namespace raceline::ptx {

inline std::uint32_t prmt_b32(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
    const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
    std::uint32_t x = 0;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t nibble = selector >> (4 * i) & 0xF;
        std::uint32_t byte = bytes >> (8 * (nibble & 7)) & 0xFF;
        byte = (nibble & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFF : 0;
        x |= byte << (8 * i);
    }
    return x;
}

}  // namespace raceline::ptx

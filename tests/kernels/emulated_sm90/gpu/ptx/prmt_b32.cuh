// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline std::uint32_t prmt_b32(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
    const std::uint64_t both = std::uint64_t{high} << 32U | low;
    std::uint32_t x = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned nibble = selector >> (4 * i) & 0xf;
        const auto byte = static_cast<std::uint8_t>(both >> (8 * (nibble & 7U)));
        const unsigned taken = nibble < 8 ? byte : (byte & 0x80U) != 0 ? 0xffU : 0U;
        x |= taken << (8 * i);
    }
    return x;
}

}  // namespace raceline::ptx

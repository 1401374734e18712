// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// prmt.b32: four bytes of the eight in (high, low), one for each of the selector's four lowest
/// nibbles: bits 0–2 name the byte, bit 3 asks for eight copies of its sign bit in its place.
/// Orders nothing: it touches no memory.
__device__ __forceinline__ std::uint32_t prmt_b32(std::uint32_t low, std::uint32_t high,
                                                  std::uint32_t selector) {
    std::uint32_t x;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(low), "r"(high), "r"(selector));
    return x;
}

}  // namespace raceline::ptx

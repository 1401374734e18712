// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// Descriptor of a wgmma operand in shared memory, K-major in rows of `row_bytes` (128, 64 or 32)
/// under the swizzle of that many bytes: eight rows a swizzle atom, atoms one behind the other;
/// `address` (as of cvta to shared) a multiple of 1024. Add 2 to the result for the next 32 bytes
/// along K. Bits: address / 16 in 0–13, leading offset (unused in these modes) in 16–29, stride
/// offset / 16 in 32–45, mode in 62–63: 1, 2, 3 for 128, 64, 32 bytes (PTX ISA, "Matrix
/// descriptor").
template <int row_bytes>
__device__ inline std::uint64_t wgmma_descriptor_k_major(std::uint32_t address) {
    static_assert(row_bytes == 128 || row_bytes == 64 || row_bytes == 32);
    constexpr std::uint64_t leading = 1;
    constexpr std::uint64_t stride = 8 * row_bytes / 16;
    constexpr std::uint64_t mode = row_bytes == 128 ? 1 : row_bytes == 64 ? 2 : 3;
    return ((address & 0x3ffffU) >> 4U) | (leading << 16U) | (stride << 32U) | (mode << 62U);
}

}  // namespace raceline::ptx

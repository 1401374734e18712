// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace raceline::ptx {

/// Descriptor of a wgmma operand in shared memory, K-major with 128-byte swizzle: rows of 128
/// bytes, eight rows (1024 bytes) a swizzle atom, atoms in a row at 1024-byte steps; `address` (as
/// of cvta to shared) a multiple of 1024. Add 2 to the result for the next 32 bytes along K.
/// Bits: address / 16 in 0–13, leading offset (unused in this mode) in 16–29, stride offset / 16 in
/// 32–45, mode 1 in 62–63.
__device__ inline std::uint64_t wgmma_descriptor_k_major_128b(std::uint32_t address) {
    constexpr std::uint64_t leading = 1;
    constexpr std::uint64_t stride = 1024 / 16;
    constexpr std::uint64_t mode = 1;
    return ((address & 0x3ffffU) >> 4U) | (leading << 16U) | (stride << 32U) | (mode << 62U);
}

/// Descriptor of a wgmma B operand in shared memory, MN-major with 128-byte swizzle: rows of 128
/// bytes hold 64 16-bit columns (MN) of one k; eight rows (1024 bytes) a swizzle atom, atoms along
/// K at 1024-byte steps, the next 64 columns `leading_bytes` further on; `address` a multiple of
/// 1024. Add 128 to the result for the next 16 rows along K. Bits as above, with the leading offset
/// / 16 in 16–29 (PTX ISA, "Strides" of wgmma's shared-memory layout).
__device__ inline std::uint64_t wgmma_descriptor_mn_major_128b(std::uint32_t address,
                                                               std::uint32_t leading_bytes) {
    constexpr std::uint64_t stride = 1024 / 16;
    constexpr std::uint64_t mode = 1;
    const std::uint64_t leading = (leading_bytes & 0x3ffffU) >> 4U;
    return ((address & 0x3ffffU) >> 4U) | (leading << 16U) | (stride << 32U) | (mode << 62U);
}

}  // namespace raceline::ptx

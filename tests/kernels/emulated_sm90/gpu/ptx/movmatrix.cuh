// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

/// Thread l gets column l / 4 of rows 2·(l % 4) and the next (PTX ISA, movmatrix).
inline std::uint32_t movmatrix_trans(std::uint32_t a) {
    auto& machine = test::Machine::get();
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t result = 0;
    for (unsigned n = 0; n < 2; ++n) {
        const std::uint32_t word = machine.exchange(a, 4 * (2 * (lane % 4) + n) + lane / 8);
        result |= (word >> (lane / 4 % 2 * 16) & 0xFFFFU) << (16 * n);
    }
    return result;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

/// Thread l has, of each matrix, elements 2·(l % 4) and the next of row l / 4 (PTX ISA, stmatrix).
inline void stmatrix_x4(std::uint32_t address, const std::uint32_t (&d)[4]) {
    auto& machine = test::Machine::get();
    const unsigned lane = threadIdx.x % 32;
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        const auto start = machine.exchange(address, 8 * matrix + lane / 4);
        std::memcpy(machine.at(start + 4 * (lane % 4), 4), &d[matrix], 4);
    }
}

}  // namespace raceline::ptx

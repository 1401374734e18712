// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

/// Thread l gets, of each matrix, columns 2·(l % 4) and the next of row l / 4.
inline void ldmatrix_x4(std::uint32_t (&d)[4], std::uint32_t address) {
    auto& machine = test::Machine::get();
    const unsigned lane = threadIdx.x % 32;
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        const auto start = machine.exchange(address, 8 * matrix + lane / 4);
        std::memcpy(&d[matrix], machine.at(start + 4 * (lane % 4), 4), 4);
    }
}

/// Thread l gets, of each matrix, column l / 4 of rows 2·(l % 4) and the next (PTX ISA, ldmatrix).
inline void ldmatrix_x4_trans(std::uint32_t (&d)[4], std::uint32_t address) {
    auto& machine = test::Machine::get();
    const unsigned lane = threadIdx.x % 32;
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        d[matrix] = 0;
        for (unsigned row = 0; row < 2; ++row) {
            const auto start = machine.exchange(address, 8 * matrix + 2 * (lane % 4) + row);
            std::uint16_t element = 0;
            std::memcpy(&element, machine.at(start + 2 * (lane / 4), 2), 2);
            d[matrix] |= std::uint32_t{element} << (16 * row);
        }
    }
}

}  // namespace raceline::ptx

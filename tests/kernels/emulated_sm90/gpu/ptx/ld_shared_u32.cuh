// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline std::uint32_t ld_shared_u32(std::uint32_t address) {
    std::uint32_t x = 0;
    std::memcpy(&x, test::Machine::get().at(address, sizeof(x)), sizeof(x));
    return x;
}

}  // namespace raceline::ptx

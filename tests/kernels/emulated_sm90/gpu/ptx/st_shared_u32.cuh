// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void st_shared_u32(std::uint32_t address, std::uint32_t x) {
    std::memcpy(test::Machine::get().at(address, sizeof(x)), &x, sizeof(x));
}

}  // namespace raceline::ptx

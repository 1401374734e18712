// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline uint4 ld_shared_v4_u32(std::uint32_t address) {
    uint4 v;
    std::memcpy(&v, test::Machine::get().at(address, sizeof(v)), sizeof(v));
    return v;
}

}  // namespace raceline::ptx

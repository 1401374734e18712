// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void st_global_v4_u32(void* address, uint4 v) {
    std::memcpy(address, &v, sizeof(v));
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see ampere.cuh.
#pragma once

#include "ampere.cuh"

namespace raceline::ptx {

inline std::uint32_t tid_x_volatile() {
    return threadIdx.x;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name.
#pragma once

#include <cstdint>

#include "machine.cuh"
#include "tests/kernels/emulated_sm90/in_front.hpp"

namespace raceline::ptx {

inline std::uint32_t ld_global_cg_u32(const void* from) {
    return test::in_front.load(*static_cast<const volatile std::uint32_t*>(from), blockIdx.x);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline float ex2_approx_ftz_f32(float x) {
    return std::exp2(x);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include <cmath>

namespace raceline::ptx {

inline float rcp_approx_ftz_f32(float x) {
    return 1 / x;
}

}  // namespace raceline::ptx

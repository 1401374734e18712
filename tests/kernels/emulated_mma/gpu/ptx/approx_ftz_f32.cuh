// SPDX-License-Identifier: Apache-2.0
// Stand in for the instructions of the same names: ex2 with all the error that it may have.
#pragma once

#include "tests/kernels/emulated/gpu/ptx/approx_ftz_f32.cuh"

namespace raceline::ptx {

inline float rcp_approx_ftz_f32(float x) {
    return 1 / x;
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stand in for the instructions of the same names: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline float ex2_approx_ftz_f32(float x) {
    return std::exp2(x);
}

inline std::uint64_t lg2_approx_calls = 0;

inline float lg2_approx_ftz_f32(float x) {
    ++lg2_approx_calls;
    return std::log2(x);
}

inline float rcp_approx_ftz_f32(float x) {
    return 1 / x;
}

}  // namespace raceline::ptx

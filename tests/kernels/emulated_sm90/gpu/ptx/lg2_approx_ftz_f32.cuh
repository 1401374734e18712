// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include <cmath>
#include <cstdint>

namespace raceline::ptx {

inline std::uint64_t lg2_approx_calls = 0;

inline float lg2_approx_ftz_f32(float x) {
    ++lg2_approx_calls;
    return std::log2(x);
}

}  // namespace raceline::ptx

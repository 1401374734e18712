// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name; refuses what is not the same in all lanes.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace raceline::ptx {

inline std::uint32_t uniform(std::uint32_t x) {
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        if (__shfl_xor_sync(~0U, x, lanes) != x) {
            throw std::logic_error("a value taken for uniform differs between lanes");
        }
    }
    return x;
}

}  // namespace raceline::ptx

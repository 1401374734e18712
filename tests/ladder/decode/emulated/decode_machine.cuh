// SPDX-License-Identifier: Apache-2.0
// The emulated GPU of tests/kernels/emulated with what the rungs of the decode ladder use beside.
#pragma once

#include <array>

#include "machine.cuh"

namespace raceline::test {

/// What every thread shows the others of its warp, for instructions that all of them take part in.
inline std::vector<std::array<const void*, 2>>& warp_pointers() {
    static std::vector<std::array<const void*, 2>> pointers(1024);
    return pointers;
}

}  // namespace raceline::test

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: grids run one after the other here, unless a
// test says otherwise (in_front.hpp).
#pragma once

#include "machine.cuh"
#include "tests/kernels/emulated_sm90/in_front.hpp"

namespace raceline::ptx {

inline void griddepcontrol_wait() {
    test::in_front.wait(blockIdx.x);
}
inline void griddepcontrol_launch_dependents() {}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

template <int registers>
void setmaxnreg_inc() {}
template <int registers>
void setmaxnreg_dec() {}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stand in for the instructions of the same names, with all the error that they may have.
#pragma once

#include "tests/kernels/emulated/gpu/ptx/approx_ftz_f32.cuh"

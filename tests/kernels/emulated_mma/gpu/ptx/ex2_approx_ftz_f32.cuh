// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name, with all the error that it may have.
#pragma once

#include "tests/kernels/emulated/gpu/ptx/ex2_approx_ftz_f32.cuh"

// SPDX-License-Identifier: Apache-2.0
// Emulated as on the Hopper machine.
#pragma once

#include "../../../emulated_sm90/gpu/ptx/prefetch_l2.cuh"

// SPDX-License-Identifier: Apache-2.0
// What every kernel of the registry must pass, whatever runs it: a CPU, a GPU, or the emulated
// machine on which device code runs on the host.
#pragma once

#include <string>

#include "registry/kernel.hpp"
#include "run/backend.hpp"

namespace raceline::test {

/// Runs `kernel` through the gate on shapes small enough for an emulated machine, of every format
/// and mask: on each that it supports, with its first, middle and last tile that do, until `most`
/// cases have run. A failure is a failure of the test that calls this. Returns how many cases ran.
int prove(Backend& backend, const Kernel& kernel, int most);

/// A GPU for the emulated machine: `units` SMs of a Hopper, with rates that kernels ask for.
Device small_hopper_gpu(int units);

}  // namespace raceline::test

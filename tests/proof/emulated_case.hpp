// SPDX-License-Identifier: Apache-2.0
// One case on the emulated machine. Beyond the CPU backend, which `prove` runs on, it looks behind
// the ends of what a kernel may write.
#pragma once

#include <cstddef>
#include <span>

#include "registry/kernel.hpp"
#include "run/gate.hpp"
#include "workload/draw.hpp"

namespace raceline::test {

/// How tensors lie in memory: elements that are nobody's behind each (token, head) and before the
/// first. Odd numbers leave no address or stride a multiple of 16 bytes.
struct Gaps {
    std::int64_t behind = 0, before = 0;
};

/// The gate's verdict on a launch whose outputs and workspace start as NaN. A zone behind each of
/// them must stay as it was, or the test that calls this fails. `workspace`: used as it stands
/// instead, by a call of many; its bytes are those that the kernel asks for.
Correctness run_emulated(const Kernel& kernel, const Workload& w, int tile, const Device& device,
                         Draw draw = Draw::outliers, Gaps gaps = {},
                         std::span<std::byte> workspace = {});

}  // namespace raceline::test

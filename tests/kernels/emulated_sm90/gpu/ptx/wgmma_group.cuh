// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void wgmma_fence() {}
inline void wgmma_commit_group() {
    test::Machine::get().commit_group();
}
template <int pending>
void wgmma_wait_group() {
    test::Machine::get().wait_group(pending);
}
template <int count>
void pin_registers(float (&)[count]) {}

inline std::uint32_t recomputed(std::uint32_t x) {
    return x;
}

}  // namespace raceline::ptx

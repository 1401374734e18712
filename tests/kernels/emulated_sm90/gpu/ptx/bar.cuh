// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void bar_sync(int barrier, int threads) {
    test::Machine::get().named_barrier(barrier, threads, true);
}
inline void bar_arrive(int barrier, int threads) {
    test::Machine::get().named_barrier(barrier, threads, false);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
    test::Machine::get().init_barrier(barrier, arrivals);
}
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
    test::Machine::get().arrive(barrier, bytes, true);
}
inline void mbarrier_arrive(std::uint32_t barrier) {
    test::Machine::get().arrive(barrier, 0, true);
}
inline void mbarrier_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
    test::Machine::get().wait_parity(barrier, parity);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

namespace raceline::ptx {

inline void mbarrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
    test::Machine::get().init_barrier(barrier, static_cast<int>(arrivals));
}
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive_expect_tx(std::uint32_t barrier, std::uint32_t bytes) {
    test::Machine::get().arrive(barrier, static_cast<int>(bytes));
}
inline void mbarrier_wait_parity(std::uint32_t barrier, std::uint32_t parity) {
    test::Machine::get().wait_for_barrier(barrier, parity);
}

}  // namespace raceline::ptx

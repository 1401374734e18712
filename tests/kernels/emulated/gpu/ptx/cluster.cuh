// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

namespace raceline::ptx {

inline void st_shared_cluster_f32(std::uint32_t address, std::uint32_t rank, float value) {
    test::Machine::get().store_of_cta(address, rank, value);
}
inline void barrier_cluster() {
    test::Machine::get().wait_for_cluster();
}

}  // namespace raceline::ptx

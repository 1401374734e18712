// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

namespace raceline::ptx {

inline void st_async_b32x2(std::uint32_t address, std::uint32_t barrier, std::uint32_t rank,
                           std::uint32_t first, std::uint32_t second) {
    test::Machine::get().store_late(address, barrier, rank,
                                    std::bit_cast<std::uint64_t>(std::array{first, second}));
}
inline void barrier_cluster() {
    test::Machine::get().wait_for_cluster();
}

}  // namespace raceline::ptx

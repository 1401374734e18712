// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

namespace raceline::ptx {

inline void cp_async_cg_16(std::uint32_t to, const void* from, int bytes) {
    test::Machine::get().copy_late(to, from, bytes);
}
inline void cp_async_commit_group() {
    test::Machine::get().commit_copies();
}
template <int pending>
void cp_async_wait_group() {
    test::Machine::get().wait_for_copies(pending);
}

}  // namespace raceline::ptx

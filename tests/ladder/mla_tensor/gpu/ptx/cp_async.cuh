// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see mla_machine.cuh.
#pragma once

#include "mla_machine.cuh"

namespace raceline::ptx {

inline void cp_async_cg_16(std::uint32_t to, const void* from, int bytes) {
    test::copies_of_thread().start(to, from, bytes);
}
inline void cp_async_commit_group() {
    test::copies_of_thread().commit();
}
template <int pending>
void cp_async_wait_group() {
    test::copies_of_thread().wait(pending);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void cp_async_bulk_commit_group() {
    test::Machine::get().commit_stores();
}
template <int pending>
inline void cp_async_bulk_wait_group_read() {
    test::Machine::get().wait_stores(pending);
}

}  // namespace raceline::ptx

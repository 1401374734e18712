// SPDX-License-Identifier: Apache-2.0
// Stands in for the instruction of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

inline void prefetch_tensormap(const void*) {}
inline void cp_async_bulk_tensor_4d_shared_global(std::uint32_t to, const void* map, int c0, int c1,
                                                  int c2, int c3, std::uint32_t barrier) {
    test::Machine::get().copy_box(to, map, {c0, c1, c2, c3}, barrier);
}

inline void cp_async_bulk_tensor_4d_global_shared(const void* map, int c0, int c1, int c2, int c3,
                                                  std::uint32_t from) {
    test::Machine::get().store_box(map, {c0, c1, c2, c3}, from);
}

}  // namespace raceline::ptx

// SPDX-License-Identifier: Apache-2.0
// Stands in for the instructions of the same name: see machine.cuh.
#pragma once

#include "machine.cuh"

namespace raceline::ptx {

/// A run of bytes as the machine copies it: a box of one row for every 16 bytes, not swizzled.
inline test::MapRecord run_of_bytes(void* start, std::uint32_t bytes) {
    if (bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(start) % 16 != 0) {
        throw std::logic_error("a bulk copy of what is no multiple of 16 bytes");
    }
    const std::uint32_t rows = bytes / 16;
    return {static_cast<std::byte*>(start),
            {16, rows, 1, 1},
            {16, bytes, bytes},
            {16, rows, 1, 1},
            1,
            16};
}

inline void cp_async_bulk_shared_global(std::uint32_t to, const void* from, std::uint32_t bytes,
                                        std::uint32_t barrier) {
    const test::MapRecord run = run_of_bytes(const_cast<void*>(from), bytes);
    test::Machine::get().copy_box(to, &run, {}, barrier);
}
inline void cp_async_bulk_global_shared(void* to, std::uint32_t from, std::uint32_t bytes) {
    const test::MapRecord run = run_of_bytes(to, bytes);
    test::Machine::get().store_box(&run, {}, from);
}
inline void cp_async_bulk_commit_group() {
    test::Machine::get().commit_stores();
}
template <int pending>
inline void cp_async_bulk_wait_group_read() {
    test::Machine::get().wait_stores(pending);
}

}  // namespace raceline::ptx

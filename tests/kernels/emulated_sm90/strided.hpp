// SPDX-License-Identifier: Apache-2.0
// What tests of kernels on the emulated SM run them with.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "device/device.hpp"

namespace raceline::test {

inline Device small_hopper(int units) {
    Device d;
    d.kind = DeviceKind::cuda;
    d.compute_capability = 90;
    d.units = units;
    d.l2_bytes = 1 << 19;  // so that heads are worked on in groups
    d.memory_bytes = std::int64_t{1} << 36;
    return d;
}

// Rows of `row` elements, apart by `pitch`, as a caller's strided tensor; the gaps are NaN. T: an
// unsigned integer of an element's size.
template <class T>
struct Strided {
    std::vector<T> memory;
    T* start;
    Strided(const void* packed, std::size_t rows, std::size_t row, std::size_t pitch,
            std::size_t offset)
        : memory(rows * pitch + offset + 16, static_cast<T>(~T{0})) {
        auto* base = memory.data();
        while (reinterpret_cast<std::uintptr_t>(base) % 16 != 0) {
            ++base;
        }
        start = base + offset;
        for (std::size_t i = 0; packed != nullptr && i < rows; ++i) {
            std::memcpy(start + i * pitch, static_cast<const T*>(packed) + i * row,
                        row * sizeof(T));
        }
    }
};

}  // namespace raceline::test

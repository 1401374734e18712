// SPDX-License-Identifier: Apache-2.0
// Tiles of kernels that have little to choose, where several kernels have the same.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline {

/// Of a kernel on a CPU that goes through its data in tasks of the same size.
struct StreamTile {
    std::int32_t stream;  ///< 1: results go past the caches, straight to memory

    static constexpr std::array<TileField, 1> fields{"stream"};
};
inline constexpr std::array stream_tiles{StreamTile{1}, StreamTile{0}};

/// Elements of a task: enough that handing it out costs nothing, few enough that the last tasks of
/// a launch end together.
inline constexpr std::int64_t elements_of_task = 65536;

/// Of a kernel from a library.
struct LibraryTile {
    std::int32_t library;  ///< 1: how the work is cut is the library's to choose

    static constexpr std::array<TileField, 1> fields{"library"};
};
inline constexpr std::array library_tiles{LibraryTile{1}};

}  // namespace raceline

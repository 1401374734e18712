// SPDX-License-Identifier: Apache-2.0
// The tile of kernels on a CPU that go through their data in tasks of the same size.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline {

struct StreamTile {
    std::int32_t stream;  ///< 1: results go past the caches, straight to memory

    static constexpr std::array<TileField, 1> fields{"stream"};
};
inline constexpr std::array stream_tiles{StreamTile{1}, StreamTile{0}};

/// Elements of a task: enough that handing it out costs nothing, few enough that the last tasks of
/// a launch end together.
inline constexpr std::int64_t elements_of_task = 65536;

}  // namespace raceline

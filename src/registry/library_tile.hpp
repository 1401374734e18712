// SPDX-License-Identifier: Apache-2.0
// The tile of a kernel from a library.
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline {

struct LibraryTile {
    std::int32_t library;  ///< 1: how the work is cut is the library's to choose

    static constexpr std::array<TileField, 1> fields{"library"};
};
inline constexpr std::array library_tiles{LibraryTile{1}};

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// The tuning space of linear_cublaslt, and what its record asks of the library.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "registry/library_tile.hpp"
#include "workload/row_chain.hpp"

namespace raceline::kernels::linear_cublaslt {

using Tile = LibraryTile;
inline constexpr std::array tile_list = library_tiles;

/// Scratch that the library may use, as its documentation advises for Hopper.
inline constexpr std::size_t scratch_bytes = std::size_t{32} << 20;

/// What the library does with a product before it stores it: what its epilogues can.
struct Epilogue {
    bool bias = false, relu = false, gelu = false;
    bool add = false;  ///< a matrix of the result's size

    auto operator<=>(const Epilogue&) const = default;
};

/// Takes the steps behind a product in their order; false if no epilogue does the same.
constexpr bool append(Epilogue& epilogue, RowStep step) {
    const bool bent = epilogue.relu || epilogue.gelu;
    switch (step) {
        case RowStep::bias:
            if (!bent && !epilogue.bias && !epilogue.add) {
                return epilogue.bias = true;
            }
            break;
        case RowStep::add:
            if (!bent && !epilogue.bias && !epilogue.add) {
                return epilogue.add = true;
            }
            break;
        case RowStep::relu:
            if (!bent && !epilogue.add) {
                return epilogue.relu = true;
            }
            break;
        case RowStep::gelu:
            if (!bent && !epilogue.add) {
                return epilogue.gelu = true;
            }
            break;
        default: break;
    }
    return false;
}

}  // namespace raceline::kernels::linear_cublaslt

// SPDX-License-Identifier: Apache-2.0
// What a kernel on tiles of query rows × keys visits of a workload.
#pragma once

#include <cstdint>

#include "workload/workload.hpp"

namespace raceline {

/// Sums over batch and query heads, of tiles aligned to multiples of their sizes; a tile without a
/// visible (query, key) pair is not visited.
struct TileCover {
    double row_tiles = 0;   ///< tiles of rows, visited or not
    double tiles = 0;       ///< (row tile, key tile) pairs visited
    double row_visits = 0;  ///< (row, key tile) pairs with a visible key: under `tiles` × rows
    double most_tiles = 0;  ///< of one row tile
    double pairs = 0;       ///< visible (row, key) pairs

    /// Key tiles of the heaviest row tile over the mean; 1 where none is visited.
    [[nodiscard]] double imbalance() const {
        return tiles > 0 ? most_tiles * row_tiles / tiles : 1;
    }
};
TileCover cover_tiles(const Workload& workload, std::int64_t rows, std::int64_t keys);

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// The tuning space of linear_onednn, and what its record asks of the library.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "registry/library_tile.hpp"
#include "workload/row_chain.hpp"

namespace raceline::kernels::linear_onednn {

using Tile = LibraryTile;
inline constexpr std::array tile_list = library_tiles;

/// A product and the steps behind it.
struct Product {
    std::int64_t m, n, k;
    DType dtype;
    bool by_rows;  ///< weights are (n, k), as a linear layer's; else (k, n)
    std::vector<RowStep> after;

    // Not <=>, which vectors of the browser's library lack.
    bool operator<(const Product& other) const {
        const auto all = [](const Product& p) {
            return std::tie(p.m, p.n, p.k, p.dtype, p.by_rows, p.after);
        };
        return all(*this) < all(other);
    }
};

/// "" if oneDNN can be loaded on this machine, else how to get it.
std::string why_not_loaded();
/// Bytes of scratch that the library asks for; 0 where it cannot be loaded.
std::size_t scratch_bytes(const Product& product);

}  // namespace raceline::kernels::linear_onednn

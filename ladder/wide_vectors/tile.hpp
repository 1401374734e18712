// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "registry/kernel.hpp"

namespace raceline::kernels::wide_vectors {

struct Tile {
    std::int32_t rows;  ///< query rows of a CTA, sixteen a warp: what shares a staged K or V

    [[nodiscard]] constexpr std::int32_t threads() const { return rows * 2; }
    static constexpr auto fields() {
        return std::array<TileField<Tile>, 1>{{{"rows", &Tile::rows}}};
    }
};

inline constexpr std::array<Tile, 1> tiles{{{128}}};

inline constexpr int tile_keys = 32;  // of a staged K or V
inline constexpr int side = 16;       // of the square matrices that are multiplied

/// Shared memory of a CTA: two buffers of K and V, one being read while the other is written.
/// `Half` is __half on the device and any type of two bytes on the host. Every row is padded so
/// that eight neighbouring rows start in different banks: a fragment is read and written eight rows
/// at a time. The padding keeps the 32-byte alignment of fragments.
template <class Half, int rows, int headdim>
struct Shared {
    static constexpr int warps = rows / side;
    alignas(32) Half q[rows][headdim + 8];
    alignas(32) Half k[2][tile_keys][headdim + 8];
    alignas(32) Half v[2][tile_keys][headdim + 8];
    alignas(32) float s[warps][side][tile_keys + 8];
    alignas(32) Half p[warps][side][tile_keys + 8];
    alignas(32) float factors[warps][side][side + 8];
};

/// Its size, for the host.
constexpr std::int64_t shared_bytes(std::int64_t rows, std::int64_t headdim) {
    return 2 * (rows + std::int64_t{4} * tile_keys) * (headdim + 8) +
           rows * (4 * (tile_keys + 8) + 2 * (tile_keys + 8) + 4 * (side + 8));
}

}  // namespace raceline::kernels::wide_vectors

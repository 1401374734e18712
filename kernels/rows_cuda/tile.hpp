// SPDX-License-Identifier: Apache-2.0
// The tuning space of rows_cuda, and how a matrix is dealt out to CTAs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "registry/kernel.hpp"
#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cuda {

struct Tile {
    std::int32_t threads;  ///< of a CTA
    std::int32_t lanes;    ///< threads that share a row: a warp, or all of the CTA
    std::int32_t chunks;   ///< of 16 bytes that a thread holds of its row

    static constexpr std::array<TileField, 3> fields{"threads", "lanes", "chunks"};
};
// Narrow rows by half warps and warps, wide ones by CTAs; a row that is wider than all lanes of the
// last tile hold is gone over several times. Of a matrix whose elements do not know their row,
// `flat` ones alone.
inline constexpr std::array tile_list{Tile{256, 16, 1},   Tile{256, 32, 1},  Tile{256, 32, 2},
                                      Tile{256, 32, 4},   Tile{128, 128, 2}, Tile{128, 128, 4},
                                      Tile{256, 256, 1},  Tile{256, 256, 2}, Tile{256, 256, 4},
                                      Tile{512, 512, 2},  Tile{512, 512, 4}, Tile{1024, 1024, 2},
                                      Tile{1024, 1024, 4}};
constexpr bool is_flat(const Tile& tile) {
    return tile.threads == 256 && tile.lanes == 256;
}

/// CTAs that an SM has room for: what holds the registers of a thread down.
constexpr int residents_of(const Tile& tile) {
    const int threads = tile.chunks == 1 ? 1536 : tile.chunks == 2 ? 1280 : 768;
    return threads < tile.threads ? 1 : threads / tile.threads;
}
/// Where no code knows the chain, half as many: every step's registers count.
constexpr int residents_reading(const Tile& tile) {
    return std::max(1, residents_of(tile) / 2);
}
/// Registers of a thread where an SM has room for so many CTAs.
constexpr int registers_of(const Tile& tile, int residents) {
    return 65536 / (residents * tile.threads) / 8 * 8;
}
/// The one tile that goes over a row several times.
constexpr bool is_widest(const Tile& tile) {
    return tile.threads == 1024 && tile.chunks == 4;
}

/// Elements of a row that its lanes hold at a time.
constexpr std::int64_t held_by(const Tile& tile, std::int64_t element_bytes) {
    return static_cast<std::int64_t>(tile.lanes) * tile.chunks * 16 / element_bytes;
}

/// Rows as the kernel sees them: of a program whose elements do not need to know their row the
/// matrix is one long row, cut to what the lanes hold.
struct RowLayout {
    std::int64_t rows, width;  ///< the last row may be shorter
    std::int64_t elements;     ///< of the matrix
    std::int64_t pieces;       ///< of a row, each held at a time
};

inline RowLayout layout_of(const RowProgram& program, std::int64_t rows, std::int64_t width,
                           const Tile& tile, std::int64_t element_bytes) {
    const std::int64_t held = held_by(tile, element_bytes);
    RowLayout layout{rows, width, rows * width, (width + held - 1) / held};
    if (!knows_rows(program)) {
        layout.width = held;
        layout.rows = (layout.elements + held - 1) / held;
        layout.pieces = 1;
    }
    return layout;
}

inline std::int64_t ctas_of(const RowLayout& layout, const Tile& tile) {
    const std::int64_t together = tile.threads / tile.lanes;
    return (layout.rows + together - 1) / together;
}
/// Where no code knows the chain CTAs stay and take row after row.
inline std::int64_t ctas_reading(const RowLayout& layout, const Tile& tile, int units) {
    return std::min(ctas_of(layout, tile),
                    static_cast<std::int64_t>(units) * residents_reading(tile));
}

/// Of a grid's first dimension.
inline constexpr std::int64_t most_ctas = (std::int64_t{1} << 31) - 1;

}  // namespace raceline::kernels::rows_cuda

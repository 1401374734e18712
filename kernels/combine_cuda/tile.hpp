// SPDX-License-Identifier: Apache-2.0
// The tuning space of combine_cuda.
#pragma once

#include <array>
#include <cstdint>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::combine_cuda {

struct Tile {
    std::int32_t threads;  ///< of a CTA
    std::int32_t at_once;  ///< parts whose loads a thread has under way

    static constexpr std::array<TileField, 2> fields{"threads", "at_once"};
};
inline constexpr std::array<Tile, 4> tile_list{{{256, 8}, {128, 8}, {256, 4}, {128, 4}}};

/// CTAs of the most threads that an SM must have room for: what holds the registers of a thread
/// down.
inline constexpr int most_threads = 256;
/// `piece`: bytes of a load. What joins two bytes each takes more registers.
constexpr int residents(int at_once, int piece) {
    return (at_once > 4 ? 3 : 4) - (piece == 2 ? 1 : 0);
}

constexpr int registers_of(int at_once, int piece) {
    return registers_beside(most_threads * residents(at_once, piece));
}
/// Rows times heads, and CTAs, are counted in 31 bits.
inline constexpr std::int64_t most_rows = (std::int64_t{1} << 31) - 1;

/// Chunks of 16 bytes of a row.
constexpr std::int64_t chunks_of(std::int64_t headdim, std::int64_t element_bytes) {
    return (headdim * element_bytes + 15) / 16;
}
/// Threads that share a row: a power of two, a warp at most.
constexpr int lanes_of(std::int64_t chunks) {
    int lanes = 1;
    while (lanes < 32 && lanes < chunks) {
        lanes *= 2;
    }
    return lanes;
}

/// Of a row that is longer than its lanes have chunks: each in a CTA with those of other rows.
constexpr int segments_of(std::int64_t chunks) {
    const int lanes = lanes_of(chunks);
    return static_cast<int>((chunks + lanes - 1) / lanes);
}

}  // namespace raceline::kernels::combine_cuda

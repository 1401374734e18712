// SPDX-License-Identifier: Apache-2.0
// The tuning space of crossentropy_cuda.
#pragma once

#include <array>
#include <cstdint>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::crossentropy_cuda {

struct Tile {
    std::int32_t threads;  ///< that go over a row: a CTA, or one of its warps
    std::int32_t at_once;  ///< chunks of 16 bytes that a thread has under way

    static constexpr std::array<TileField, 2> fields{"threads", "at_once"};
};
inline constexpr std::array tile_list{Tile{512, 2}, Tile{256, 2}, Tile{128, 2},
                                      Tile{512, 4}, Tile{256, 4}, Tile{32, 2}};
/// Warps go over rows of their own, so many a CTA.
constexpr int threads_of_cta(int threads) {
    return threads == 32 ? 256 : threads;
}
constexpr std::int64_t ctas_of(std::int64_t rows, const Tile& tile) {
    const int rows_of_cta = threads_of_cta(tile.threads) / tile.threads;
    return (rows + rows_of_cta - 1) / rows_of_cta;
}
inline constexpr int most_threads = 512;
inline constexpr int resident_threads = 1024;
inline constexpr int registers = registers_beside(resident_threads);

}  // namespace raceline::kernels::crossentropy_cuda

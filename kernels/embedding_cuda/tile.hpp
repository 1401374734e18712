// SPDX-License-Identifier: Apache-2.0
// The tuning space of embedding_cuda.
#pragma once

#include <array>
#include <cstdint>

#include "registry/cuda_limits.hpp"
#include "registry/kernel.hpp"
#include "support/rounding.hpp"

namespace raceline::kernels::embedding_cuda {

struct Tile {
    std::int32_t threads;  ///< of a CTA
    std::int32_t at_once;  ///< units that a thread has under way

    static constexpr std::array<TileField, 2> fields{"threads", "at_once"};
};
inline constexpr std::array tile_list{Tile{256, 4}, Tile{256, 1}};
inline constexpr int resident_threads = 2048;
inline constexpr int registers = registers_beside(resident_threads);

/// Bytes that a thread copies at a time: the most of 16, 8, 4, 2 and 1 that rows are multiples of.
constexpr std::int64_t unit_of(std::int64_t row_bytes) {
    std::int64_t unit = 16;
    while (row_bytes % unit != 0) {
        unit /= 2;
    }
    return unit;
}

constexpr std::int64_t ctas_of(std::int64_t tokens, std::int64_t row_bytes, const Tile& tile) {
    const std::int64_t together = std::int64_t{tile.threads} * tile.at_once;
    return divide_up(tokens * (row_bytes / unit_of(row_bytes)), together);
}

}  // namespace raceline::kernels::embedding_cuda

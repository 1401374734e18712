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
/// Threads of an SM; where a chunk is joined from two they need more registers.
inline constexpr int resident_threads = 2048, resident_threads_joining = 1024;

/// Bytes of a chunk of the output that a thread joins from two of the table.
inline constexpr std::int64_t chunk_bytes = 16;
/// Whether rows begin inside of chunks and are wide enough that few of the output's chunks have
/// elements of two rows. The limit is assumed.
constexpr bool joins_chunks(std::int64_t row_bytes) {
    return row_bytes % chunk_bytes != 0 && row_bytes >= 4 * chunk_bytes;
}

/// Bytes that a thread copies at a time where it joins none: the most of 16, 8, 4, 2 and 1 that
/// rows are multiples of.
constexpr std::int64_t unit_of(std::int64_t row_bytes) {
    std::int64_t unit = 16;
    while (row_bytes % unit != 0) {
        unit /= 2;
    }
    return unit;
}

constexpr std::int64_t ctas_of(std::int64_t tokens, std::int64_t row_bytes, const Tile& tile) {
    const std::int64_t together = std::int64_t{tile.threads} * tile.at_once;
    const std::int64_t unit = joins_chunks(row_bytes) ? chunk_bytes : unit_of(row_bytes);
    return divide_up(divide_up(tokens * row_bytes, unit), together);
}

}  // namespace raceline::kernels::embedding_cuda

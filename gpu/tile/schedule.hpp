// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of persistent forward kernels: which CTA does what. Used by the kernels, by
// their counts and by tests.
#pragma once

#include <cstdint>

#include "workload/band.hpp"

namespace raceline::schedule {

/// Division of n in [0, 2^31) by a number that is known before the launch: a multiplication and a
/// shift, where the compiler's division takes some 150 clocks (Granlund and Montgomery, Division by
/// invariant integers using multiplication).
struct Divider {
    std::uint32_t multiplier = 0;
    std::int32_t shift = 0;

    constexpr Divider() = default;
    /// Errors: none; `by` must be positive.
    constexpr explicit Divider(std::int32_t by) {
        std::int32_t bits = 0;
        while ((std::int64_t{1} << bits) < by) {
            ++bits;
        }
        shift = 31 + bits;
        multiplier = static_cast<std::uint32_t>(
            (std::uint64_t{1} << shift) / static_cast<std::uint64_t>(by) + 1);
    }
    [[nodiscard]] constexpr std::int32_t divide(std::int32_t n) const {
        return static_cast<std::int32_t>(
            (static_cast<std::uint64_t>(n) * std::uint64_t{multiplier}) >> shift);
    }
};

/// The rows of a sequence of `length` that tile number `tile` of `rows` has, a multiple of 64.
/// Where they do not come out even it is the first tile that has fewer groups of 64. Every
/// warpgroup of a work tile waits for all of the tile's keys, also one without rows. Under a causal
/// mask the first tile has the fewest keys.
constexpr Rows rows_of_tile(std::int32_t tile, std::int32_t length, std::int32_t rows) {
    const std::int32_t over = (length + 63) / 64 * 64 % rows;
    const std::int32_t missing = over == 0 ? 0 : rows - over;
    return {larger(0, tile * rows - missing), smaller(length, (tile + 1) * rows - missing)};
}

/// Where blocks are said to stand of rows that a tile does not have: behind all that there are.
inline constexpr std::int32_t nowhere = 1 << 29;

/// One work tile: a tile of rows of one query head; `head` counts through batch × heads_q.
struct WorkTile {
    std::int32_t row_tile, head;
    bool operator==(const WorkTile&) const = default;
};

/// A work tile that is handed out is drawn when the copies of this many blocks of the one before
/// are still to be started: as late as its own first copies allow. Who draws early takes what a CTA
/// that is free sooner should have.
inline constexpr std::int32_t draw_lead = 3;

/// The order of all work tiles: heads in groups whose keys and values the L2 holds; within a group
/// the last rows of every head first, which under a causal mask have the most keys.
struct Order {
    std::int32_t row_tiles = 0, heads = 0, heads_per_group = 0;
    Divider by_group, by_width,
        by_last_width;  ///< work tiles of a group; its heads; the last group's

    constexpr Order() = default;
    constexpr Order(std::int32_t tiles, std::int32_t all, std::int32_t in_group)
        : row_tiles(tiles),
          heads(all),
          heads_per_group(in_group),
          by_group(larger(1, tiles * in_group)),
          by_width(larger(1, in_group)),
          by_last_width(larger(1, all - (all - 1) / larger(1, in_group) * in_group)) {}
    [[nodiscard]] constexpr std::int32_t work_tiles() const { return row_tiles * heads; }
    [[nodiscard]] constexpr WorkTile work_tile(std::int32_t index) const {
        const std::int32_t first = by_group.divide(index) * heads_per_group;
        const std::int32_t in_group = index - first * row_tiles;
        const bool whole = first + heads_per_group <= heads;
        const std::int32_t width = whole ? heads_per_group : heads - first;
        const std::int32_t from_end = (whole ? by_width : by_last_width).divide(in_group);
        return {row_tiles - 1 - from_end, first + in_group - from_end * width};
    }
};

/// The work tile that a CTA takes in a round, or one past the last if it has none. Rounds alternate
/// in direction, so that who got the longest of one gets the shortest of the next.
constexpr std::int32_t index_of(std::int32_t cta, std::int32_t ctas, std::int32_t round,
                                std::int32_t work_tiles) {
    const std::int64_t index = std::int64_t{round} * ctas + (round % 2 == 0 ? cta : ctas - 1 - cta);
    return index < work_tiles ? static_cast<std::int32_t>(index) : work_tiles;
}

}  // namespace raceline::schedule

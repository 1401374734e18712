// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of prefill_mma: which CTA does what, which keys a row sees. Used by the
// kernel, by its counts and by tests.
#pragma once

#include <cstdint>

namespace raceline::kernels::prefill_mma {

constexpr std::int32_t smaller(std::int32_t a, std::int32_t b) {
    return a < b ? a : b;
}
constexpr std::int32_t larger(std::int32_t a, std::int32_t b) {
    return a > b ? a : b;
}
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// Blocks of keys [first, last); none if first >= last.
struct Blocks {
    std::int32_t first, last;
    [[nodiscard]] constexpr std::int32_t count() const { return larger(0, last - first); }
    bool operator==(const Blocks&) const = default;
};

/// Lengths and mask, bottom-right aligned; a negative side of the window is unbounded. Both sides
/// are at most the lengths' sum, so that nothing overflows (see make_plan).
struct Band {
    std::int32_t length_q, length_k, left, right;

    /// First key that row i sees, and one past its last; may cross where it sees none. Both grow
    /// with i.
    [[nodiscard]] constexpr std::int32_t begin(std::int32_t i) const {
        return left < 0 ? 0 : larger(0, i + (length_k - length_q) - left);
    }
    [[nodiscard]] constexpr std::int32_t end(std::int32_t i) const {
        return right < 0 ? length_k : smaller(length_k, i + (length_k - length_q) + right + 1);
    }
    /// What any of the rows [row, row + rows) that exist sees, in blocks of `keys`.
    [[nodiscard]] constexpr Blocks blocks(std::int32_t row, std::int32_t rows,
                                          std::int32_t keys) const {
        const std::int32_t last_row = smaller(row + rows, length_q) - 1;
        const std::int32_t to = larger(0, end(last_row));
        return {begin(row) / keys, (to + keys - 1) / keys};
    }
    /// Of these, how many need a mask: not all of the rows see all of their keys.
    [[nodiscard]] constexpr std::int32_t masked(std::int32_t row, std::int32_t rows,
                                                std::int32_t keys) const {
        const Blocks all = blocks(row, rows, keys);
        const std::int32_t from = (begin(row + rows - 1) + keys - 1) / keys;
        const Blocks whole{larger(from, all.first), smaller(end(row) / keys, all.last)};
        return all.count() - whole.count();
    }
};

/// The work of one CTA: a tile of rows of one query head; `head` counts through batch × heads_q.
struct Item {
    std::int32_t row_tile, head;
    bool operator==(const Item&) const = default;
};

/// Which item a CTA does. CTAs start in the order of their index: heads go in groups, and within a
/// group the last rows of every head come first, which under a causal mask have the most keys.
struct Order {
    std::int32_t row_tiles, heads, heads_per_group;
    [[nodiscard]] constexpr std::int32_t items() const { return row_tiles * heads; }
    [[nodiscard]] constexpr Item item(std::int32_t index) const {
        const std::int32_t group = index / (row_tiles * heads_per_group);
        const std::int32_t first = group * heads_per_group;
        const std::int32_t in_group = index - first * row_tiles;
        const std::int32_t width = smaller(heads_per_group, heads - first);
        const std::int32_t from_end = in_group / width;
        return {row_tiles - 1 - from_end, first + in_group - from_end * width};
    }
};

}  // namespace raceline::kernels::prefill_mma

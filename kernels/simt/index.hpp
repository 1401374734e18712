// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of simt: which CTA does what. Used by the kernel, by its counts and by tests.
#pragma once

#include <cstdint>

#include "support/rounding.hpp"

namespace raceline::kernels::simt {

/// Keys [first, last); first == last if none.
struct Keys {
    std::int32_t first, last;
    [[nodiscard]] constexpr std::int32_t count() const { return last - first; }
    bool operator==(const Keys&) const = default;
};

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
}
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
    return a > b ? a : b;
}

/// Lengths of one sequence and its mask; a negative side of the window is unbounded. As
/// raceline::Band, but counted in 64 bits; with that one in its place the compiler spills
/// (CompilerReport).
struct Band {
    std::int32_t length_q, length_k, left, right;

    /// First key that query i sees, and one past its last; may cross where it sees none.
    [[nodiscard]] constexpr std::int64_t begin(std::int32_t i) const {
        const std::int64_t at = std::int64_t{i} + length_k - length_q;
        return left < 0 ? 0 : larger(0, at - left);
    }
    [[nodiscard]] constexpr std::int64_t end(std::int32_t i) const {
        const std::int64_t at = std::int64_t{i} + length_k - length_q;
        return right < 0 ? length_k : smaller(length_k, at + right + 1);
    }
    [[nodiscard]] constexpr Keys between(std::int64_t from, std::int64_t to) const {
        const std::int64_t last = larger(0, to);
        const std::int64_t first = smaller(from, last);
        return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
    }
    [[nodiscard]] constexpr Keys visible(std::int32_t i) const { return between(begin(i), end(i)); }
    /// What any of the queries i0 … i1 sees: both ends grow with the query.
    [[nodiscard]] constexpr Keys visible(std::int32_t i0, std::int32_t i1) const {
        return between(begin(i0), end(i1));
    }
};

/// Part `split` of `splits`: whole tiles, the same number in each but the last ones.
constexpr Keys split_keys(Keys all, std::int32_t split, std::int32_t splits, std::int32_t tile) {
    const std::int64_t per = divide_up(divide_up(all.count(), tile), splits) * tile;
    const std::int64_t first = smaller(all.first + per * split, all.last);
    const std::int64_t last = smaller(first + per, all.last);
    return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
}

/// What the CTA with this index works on. Row tiles come last to first, so that under a causal mask
/// the longest start first and only short ones are left for the tail.
struct Block {
    std::int32_t row_tile, split, head_kv, sequence;
};
constexpr Block block_of(std::int32_t index, std::int32_t row_tiles, std::int32_t splits,
                         std::int32_t heads_kv, std::int32_t batch) {
    const std::int32_t sequence = index % batch;
    index /= batch;
    const std::int32_t head = index % heads_kv;
    index /= heads_kv;
    const std::int32_t split = index % splits;
    return {row_tiles - 1 - index / splits, split, head, sequence};
}

}  // namespace raceline::kernels::simt

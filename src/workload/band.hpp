// SPDX-License-Identifier: Apache-2.0
// Which keys a query row sees, on host and device: where lengths and a window become indices for
// plans, gate and the Hopper and CPU engines. Includes nothing that a device translation unit may
// not see. `simt`, the ladder and gpu/tile/row_tile.cuh have forms of their own of the same window.
#pragma once

#include <cstdint>
#include <type_traits>

#include "support/rounding.hpp"

namespace raceline {

template <class A, class B>
constexpr std::common_type_t<A, B> smaller(A a, B b) {
    return a < b ? a : b;
}
template <class A, class B>
constexpr std::common_type_t<A, B> larger(A a, B b) {
    return a > b ? a : b;
}

/// Blocks of keys [first, last); none if first >= last.
struct Blocks {
    std::int32_t first, last;
    [[nodiscard]] constexpr std::int32_t count() const { return larger(0, last - first); }
    bool operator==(const Blocks&) const = default;
};

/// Query rows [first, end); none if first >= end.
struct Rows {
    std::int32_t first, end;
    [[nodiscard]] constexpr std::int32_t count() const { return larger(0, end - first); }
    bool operator==(const Rows&) const = default;
};

/// Lengths of a sequence and its mask, bottom-right aligned: the last query stands beside the last
/// key. A negative side of the window is unbounded; causal is a right side of 0 (folded_window).
/// `Index` must hold the sum of both lengths and a side.
template <class Index>
struct BasicBand {
    Index length_q, length_k, left, right;

    /// First key that row i sees, and one past its last; may cross where it sees none. Both grow
    /// with i.
    [[nodiscard]] constexpr Index begin(Index i) const {
        return left < 0 ? Index{0} : larger(Index{0}, i + shift() - left);
    }
    [[nodiscard]] constexpr Index end(Index i) const {
        return right < 0 ? length_k : smaller(length_k, i + shift() + right + 1);
    }
    /// How many ends of what a row sees move with the row.
    [[nodiscard]] constexpr int edges() const { return (left >= 0 ? 1 : 0) + (right >= 0 ? 1 : 0); }
    /// What all of the rows [row, row + rows) see, in whole blocks.
    [[nodiscard]] constexpr Blocks plain(Index row, Index rows, Index keys) const {
        return {(begin(row + rows - 1) + keys - 1) / keys, end(row) / keys};
    }
    /// What any of the rows [row, row + rows) that exist sees, in blocks of `keys`; one must.
    [[nodiscard]] constexpr Blocks blocks(Index row, Index rows, Index keys) const {
        const Index last_row = smaller(row + rows, length_q) - 1;
        const Index to = larger(0, end(last_row));
        return {begin(row) / keys, (to + keys - 1) / keys};
    }
    /// The same of rows that may be none.
    [[nodiscard]] constexpr Blocks blocks(Rows rows, Index keys) const {
        return rows.count() > 0 ? blocks(rows.first, rows.count(), keys) : Blocks{0, 0};
    }
    /// Of these blocks, how many need a mask: not all of the rows see all of their keys.
    [[nodiscard]] constexpr Index masked(Index row, Index rows, Index keys) const {
        const Blocks all = blocks(row, rows, keys);
        const Blocks whole = plain(row, rows, keys);
        return all.count() -
               Blocks{larger(whole.first, all.first), smaller(whole.last, all.last)}.count();
    }

private:
    /// From a query to the key beside it.
    [[nodiscard]] constexpr Index shift() const { return length_k - length_q; }
};

/// As kernels hold it: sides shorter than a length (folded_window), so that nothing overflows.
using Band = BasicBand<std::int32_t>;
/// Of any sides and lengths that a Workload may have.
using WideBand = BasicBand<std::int64_t>;

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Blocks of rows of one sequence, for counts: every one of a few, and of very many some that stand
// for their neighbours, so that counting takes no longer for two thousand million rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "workload/band.hpp"

namespace raceline {

/// Blocks [first, last) of a sequence's rows between which nothing bends: what a block sees stays
/// the same or moves with the block.
struct BlockRange {
    std::int64_t first, last;
};

/// A block's place, and how many it stands for.
struct CountedBlock {
    std::int64_t block, times;
};

/// Queries from which on an end of what they see moves, or stops moving.
inline std::array<std::int64_t, 4> bends_of(const WideBand& band) {
    const std::int64_t shift = band.length_k - band.length_q;
    const std::int64_t none = band.length_q;
    return {band.right < 0 ? none : -(shift + band.right + 1),
            band.right < 0 ? none : band.length_k - shift - band.right - 1,
            band.left < 0 ? none : band.left - shift,
            band.left < 0 ? none : band.length_k - shift + band.left};
}

/// The sequence's blocks in order, cut so that those around a bend stand apart, and the first and
/// the last one, which may have fewer rows. `group`: rows of a query; `rows`: of a block.
template <class Visit>
void visit_ranges(const WideBand& band, std::int64_t group, std::int64_t rows, const Visit& visit) {
    const std::int64_t blocks = divide_up(band.length_q * group, rows);
    const auto place = [&](std::int64_t block) {
        return std::clamp<std::int64_t>(block, 0, blocks);
    };
    std::array<std::int64_t, 12> cuts{0, place(1), place(blocks - 1), blocks};
    std::size_t at = 4;
    for (const std::int64_t query : bends_of(band)) {
        const std::int64_t row = std::clamp<std::int64_t>(query, 0, band.length_q) * group;
        // A block more on either side: a kernel may begin with a block of fewer rows.
        cuts[at++] = place(row / rows - 1);
        cuts[at++] = place(divide_up(row + group, rows) + 1);
    }
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        if (cuts[i - 1] < cuts[i]) {
            visit(BlockRange{cuts[i - 1], cuts[i]});
        }
    }
}

/// `visit(CountedBlock)` in the order of the rows, at most `most` times between two bends: each
/// block for itself where there are no more than that.
template <class Visit>
void visit_blocks(const WideBand& band, std::int64_t group, std::int64_t rows, std::int64_t most,
                  const Visit& visit) {
    visit_ranges(band, group, rows, [&](BlockRange range) {
        const std::int64_t every = divide_up(range.last - range.first, most);
        for (std::int64_t block = range.first; block < range.last; block += every) {
            const std::int64_t here = std::min(every, range.last - block);
            visit(CountedBlock{block + here / 2, here});
        }
    });
}

}  // namespace raceline

// SPDX-License-Identifier: Apache-2.0
// Blocks of rows that stand for others: all are counted once, and the sums are those of a walk.
#include "workload/row_blocks.hpp"

#include <gtest/gtest.h>

#include "workload/shape_grammar.hpp"
#include "workload/tile_cover.hpp"

namespace raceline {
namespace {

constexpr std::int64_t group = 4;
constexpr std::int64_t rows = 64;

struct Sums {
    std::int64_t blocks = 0, visits = 0;
    double keys = 0, most = 0;
};

// Keys that the first query of each block sees.
Sums sums_of(const WideBand& band, std::int64_t most) {
    Sums sums;
    visit_blocks(band, group, rows, most, [&](CountedBlock counted) {
        EXPECT_LT(counted.block, sums.blocks + counted.times);
        EXPECT_GE(counted.block, sums.blocks);
        const std::int64_t query = counted.block * rows / group;
        const auto keys =
            static_cast<double>(std::max<std::int64_t>(0, band.end(query) - band.begin(query)));
        sums.blocks += counted.times;
        sums.keys += keys * static_cast<double>(counted.times);
        sums.most = std::max(sums.most, keys);
        ++sums.visits;
    });
    return sums;
}

TEST(RowBlocks, FewStandForThemselvesAndMoreForTheirNeighbours) {
    for (const WideBand band : {WideBand{50000, 50000, -1, 0}, WideBand{50000, 300, -1, 0},
                                WideBand{50000, 90000, 4096, 0}, WideBand{50000, 700, 100, 30},
                                WideBand{50000, 20000, -1, -1}, WideBand{3, 20000, 10, 0}}) {
        SCOPED_TRACE(testing::Message() << band.length_q << " " << band.length_k << " " << band.left
                                        << " " << band.right);
        const Sums walked = sums_of(band, 1 << 20);
        EXPECT_EQ(walked.blocks, divide_up(band.length_q * group, rows));
        EXPECT_EQ(walked.visits, walked.blocks);
        const Sums sampled = sums_of(band, 16);
        EXPECT_EQ(sampled.blocks, walked.blocks);
        EXPECT_LE(sampled.visits, 11 * 16);
        EXPECT_NEAR(sampled.keys, walked.keys, 0.01 * walked.keys);
        EXPECT_NEAR(sampled.most, walked.most, 0.01 * walked.most);
    }
}

TEST(RowBlocks, TilesOfTheLongestSequencesAreCounted) {
    // All keys are seen: each tile of rows takes the same tiles of keys.
    const TileCover full = cover_tiles(parse_shape("h=1,q=2147483647,k=96,d=64"), 64, 32);
    EXPECT_EQ(full.row_tiles, 33554432);
    EXPECT_EQ(full.tiles, 3 * full.row_tiles);
    EXPECT_EQ(full.row_visits, 3 * 2147483647.0);
    // Only the last 96 queries see a key, 33 and 63 of two tiles of rows: two and three tiles.
    const TileCover last = cover_tiles(parse_shape("h=1,q=2147483647,k=96,d=64,causal"), 64, 32);
    EXPECT_EQ(last.most_tiles, 3);
    EXPECT_EQ(last.tiles, 2 + 3);
}

}  // namespace
}  // namespace raceline

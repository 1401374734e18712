// SPDX-License-Identifier: Apache-2.0
// Clocks of prefill_mma's warps in each other's way: bounds of the network.
#include <algorithm>
#include <gtest/gtest.h>

#include "kernels/prefill_mma/counts.hpp"
#include "model/constant.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_mma;

constexpr double hopper = 2700;  // flops a clock and SM by mma.sync

double block_among(const prefill::GroupClocks& block, int groups) {
    return prefill::clocks_behind(block, prefill::queues_among(block, groups));
}

TEST(PrefillMmaClocks, two_groups_by_hand) {
    const prefill::GroupClocks block{100, 40, 20, 10, 30, 5};
    EXPECT_DOUBLE_EQ(block_among(block, 1), 100);
    // The other is at the stations for 40, 20, 10 and 30 of 100 clocks; copies for 5 at the second.
    EXPECT_DOUBLE_EQ(block_among(block, 2), 100 + 40 * 0.4 + 20 * 0.25 + 10 * 0.1 + 30 * 0.3);
    // Other work meets the same two at their blocks.
    const prefill::Queues queues = prefill::queues_among(block, 2);
    EXPECT_DOUBLE_EQ(prefill::clocks_behind({7, 0, 1, 0, 2, 0}, queues), 7 + 0.25 + 2 * 0.3);
}

// Registers hold four groups of any tile.
TEST(PrefillMmaClocks, more_groups_are_slower_and_no_station_serves_more_than_it_can) {
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::GroupClocks block = prefill::block_clocks(tile, hopper, false);
        EXPECT_DOUBLE_EQ(block_among(block, 1), block.chain);
        const double busiest =
            std::max({block.tensor, block.shared + block.copies, block.exponentials, block.issued});
        for (int groups = 1; groups <= 4; ++groups) {
            EXPECT_GT(block_among(block, groups + 1), block_among(block, groups));
            EXPECT_GE(block_among(block, groups), groups * busiest)
                << tile.headdim << ' ' << tile.keys << ' ' << groups;
        }
    }
}

// The bound of operational analysis stays under the network it stands in for, and is used only
// where it is asked for.
TEST(PrefillMmaClocks, without_calibration_a_bound_takes_the_place_of_the_network) {
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::GroupClocks block = prefill::block_clocks(tile, hopper, false);
        for (int groups = 1; groups <= 4; ++groups) {
            EXPECT_DOUBLE_EQ(prefill::clocks_among(block, block, groups),
                             block_among(block, groups));
            const ConstantWatch without(ConstantWatch::Calibrated::stand_in);
            const double bound = prefill::clocks_among(block, block, groups);
            EXPECT_GE(bound, groups * block.tensor);
            EXPECT_LE(bound, block_among(block, groups));
        }
        const ConstantWatch without(ConstantWatch::Calibrated::stand_in);
        EXPECT_DOUBLE_EQ(prefill::clocks_among(block, block, 1), block.chain);
    }
}

TEST(PrefillMmaClocks, slower_products_and_a_softcap_lengthen_a_block) {
    for (const prefill::Tile& tile : prefill::tiles) {
        const prefill::GroupClocks plain = prefill::block_clocks(tile, hopper, false);
        EXPECT_GT(prefill::block_clocks(tile, 1024, false).chain, plain.chain);
        EXPECT_GE(prefill::block_clocks(tile, 1024, false).chain, 4 * 4096.0 / 1024);
        EXPECT_GT(prefill::block_clocks(tile, hopper, true).chain, plain.chain);
        EXPECT_GT(prefill::block_clocks(tile, hopper, true).exponentials, plain.exponentials);
    }
}

}  // namespace
}  // namespace raceline

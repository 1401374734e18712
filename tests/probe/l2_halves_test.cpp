// SPDX-License-Identifier: Apache-2.0
#include "probe/l2_halves.hpp"

#include <gtest/gtest.h>
#include <random>

namespace raceline::probe {
namespace {

constexpr std::size_t blocks = 64;

bool is_far(std::size_t unit_side, std::size_t block) {
    return (block * 7 / 3 + block % 5) % 2 != unit_side;
}

// SMs 0, 3, 4, 7, … stand at one half. Every SM has an offset of its own, and readings scatter.
std::size_t side_of(std::size_t unit) {
    return (unit + 1) / 2 % 2;
}

std::vector<std::uint32_t> readings(std::size_t units, double far_over_near) {
    std::mt19937 random(3);
    std::vector<std::uint32_t> cycles;
    for (std::size_t unit = 0; unit < units; ++unit) {
        for (std::size_t block = 0; block < blocks; ++block) {
            const double mean = 240 * (is_far(side_of(unit), block) ? far_over_near : 1);
            cycles.push_back(
                static_cast<std::uint32_t>(mean + static_cast<double>(unit % 9 + random() % 20)));
        }
    }
    return cycles;
}

TEST(SidesOfUnits, are_told_by_the_blocks_that_take_longer) {
    constexpr std::size_t units = 20;
    const auto cycles = readings(units, 1.6);
    const auto found = sides_of_units(cycles, units);
    ASSERT_TRUE(found);
    for (std::size_t unit = 0; unit < units; ++unit) {
        EXPECT_EQ(found->sides[unit], side_of(unit)) << unit;
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t home = is_far(0, block) ? 1 : 0;
            EXPECT_EQ(found->home(static_cast<std::uint32_t>(unit), cycles[unit * blocks + block]),
                      home);
        }
    }
    EXPECT_NEAR(found->far_cycles / found->near_cycles, 1.6, 0.05);
}

TEST(SidesOfUnits, are_none_where_the_l2_is_one_piece) {
    EXPECT_FALSE(sides_of_units(readings(20, 1.1), 20)) << "slices differ by less";
    std::mt19937 random(4);
    std::vector<std::uint32_t> scatter(20 * blocks);
    for (auto& cycles : scatter) {
        cycles = static_cast<std::uint32_t>(
            240 + random() % 200);  // two heaps for each SM, but no two see the same
    }
    EXPECT_FALSE(sides_of_units(scatter, 20));
    EXPECT_FALSE(sides_of_units(std::vector<std::uint32_t>(20 * blocks, 240), 20));
    // All SMs at one half: the far blocks are far from each.
    std::vector<std::uint32_t> all_at_one;
    for (std::size_t i = 0; i < 20 * blocks; ++i) {
        all_at_one.push_back(is_far(0, i % blocks) ? 400 : 240);
    }
    EXPECT_FALSE(sides_of_units(all_at_one, 20));
    EXPECT_FALSE(sides_of_units({}, 1));
}

TEST(FootprintOfHalf, is_where_loads_pass_the_middle) {
    const std::vector<FootprintTime> sweep{{12, 140}, {24, 140}, {28, 240}, {32, 260}};
    EXPECT_NEAR(footprint_of_half(sweep).value_or(0), 26.4, 1e-9);
    EXPECT_FALSE(footprint_of_half(std::vector<FootprintTime>{{12, 140}, {24, 150}}));
    EXPECT_FALSE(footprint_of_half({}));
}

}  // namespace
}  // namespace raceline::probe

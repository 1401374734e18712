// SPDX-License-Identifier: Apache-2.0
#include "support/rounding.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <type_traits>

namespace raceline {
namespace {

TEST(Rounding, goes_up_to_whole_parts) {
    EXPECT_EQ(divide_up(0, 8), 0);
    EXPECT_EQ(divide_up(1, 8), 1);
    EXPECT_EQ(divide_up(8, 8), 1);
    EXPECT_EQ(divide_up(9, 8), 2);
    EXPECT_EQ(round_up(0, 8), 0);
    EXPECT_EQ(round_up(9, 8), 16);
    EXPECT_EQ(round_up(16, 8), 16);
}

// Sizes of memory stay what they are; all else is counted in 64 bits, whatever it came in.
TEST(Rounding, keeps_the_width_of_sizes) {
    static_assert(std::is_same_v<decltype(divide_up(1, 2)), std::int64_t>);
    static_assert(std::is_same_v<decltype(round_up(std::size_t{1}, std::size_t{2})), std::size_t>);
    EXPECT_EQ(divide_up(2147483647, 2), std::int64_t{1} << 30);
    EXPECT_EQ(round_up((std::size_t{1} << 63) - 1, std::size_t{2}), std::size_t{1} << 63);
}

}  // namespace
}  // namespace raceline

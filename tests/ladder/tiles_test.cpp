// SPDX-License-Identifier: Apache-2.0
// That every tile of a rung is code of its own. Published sweeps have timed one binary many times
// under different names, with tuning parameters that no kernel read.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <vector>

#include "registry/registry.hpp"
#include "tests/ladder/sass.hpp"

namespace raceline {
namespace {

TEST(Tiles, no_two_are_the_same_code) {
    int rungs = 0;
    for (const Kernel& kernel : all_kernels()) {
        if (!kernel.ladder || kernel.tile_count() < 2 || kernel.name == "naive") {
            continue;  // naive takes its one field, the threads, at run time
        }
        const auto functions = test::functions_of(std::string(kernel.name));
        // By name without the first template argument, which is the tile.
        std::map<std::string, std::set<std::string>> codes;
        std::map<std::string, int> count;
        const std::regex tile("ILi[0-9]+E");
        for (const auto& [name, f] : functions) {
            const std::string others =
                std::regex_replace(name, tile, "I*", std::regex_constants::format_first_only);
            if (others != name) {
                codes[others].insert(f.code);
                ++count[others];
            }
        }
        for (const auto& [name, different] : codes) {
            EXPECT_EQ(static_cast<int>(different.size()), count[name]) << name;
        }
        rungs += codes.empty() ? 0 : 1;
    }
    if (rungs == 0) {
        GTEST_SKIP() << "a build without CUDA has no machine code";
    }
}

// Reading a rung is the lesson, so that it must be short: more than half hold fewer than 150 lines.
TEST(Rungs, hold_little_of_their_own) {
    std::vector<int> lines;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.ladder) {
            EXPECT_GT(kernel.own_lines, 0) << kernel.name;
            lines.push_back(kernel.own_lines);
        }
    }
    ASSERT_GE(lines.size(), 20U);
    std::ranges::sort(lines);
    EXPECT_LT(lines[lines.size() / 2], 150);
}

}  // namespace
}  // namespace raceline

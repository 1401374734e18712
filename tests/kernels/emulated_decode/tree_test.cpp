// SPDX-License-Identifier: Apache-2.0
// Trees of new tokens on the emulated SM: decode_sm90_tree's own source, judged by the gate.
#include <gtest/gtest.h>

#include "registry/registry.hpp"
#include "tests/kernels/tree_cases.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr Draw draws[] = {Draw::plain, Draw::outliers, Draw::non_finite};

TEST(EmulatedDecodeTree, TwoHundredRandomTreesPassTheGate) {
    const Kernel& kernel = find_kernel("decode_sm90_tree");
    std::size_t tiles_run = 0;
    for (std::uint64_t n = 0; n < 200; ++n) {
        const std::string shape = test::tree_shape(n, 16, false, true);
        const Workload w = parse_shape(shape);
        const Device device = test::small_hopper_gpu(1 + static_cast<int>(n % 5));
        std::vector<int> able;
        for (int tile = 0; tile < kernel.tile_count(); ++tile) {
            if (kernel.why_not(w, tile, device).empty()) {
                able.push_back(tile);
            }
        }
        ASSERT_FALSE(able.empty()) << shape;
        tiles_run = std::max(tiles_run, able.size());
        const int tile = able[n / 7 % able.size()];
        const Correctness verdict = test::run_emulated(kernel, w, tile, device, draws[n % 3]);
        EXPECT_TRUE(verdict.passed)
            << shape << ' ' << kernel.tile_text(tile) << ": " << verdict.why;
    }
    EXPECT_GE(tiles_run, 3U);
}

// The new keys lie in two blocks, and in two parts of the line; every token of 16 and a group of 3
// makes more rows than a tile has.
TEST(EmulatedDecodeTree, NewKeysMayLieAcrossBlocksAndParts) {
    const Kernel& kernel = find_kernel("decode_sm90_tree");
    int checked = 0;
    for (const int keys : {15, 16, 17, 37, 69, 72, 131, 250}) {
        const Workload w = parse_shape("h=6/2,q=16,k=" + std::to_string(keys) +
                                       ",d=64,dtype=fp16,tree=" + std::to_string(keys));
        for (const int units : {1, 2, 7}) {
            const Device device = test::small_hopper_gpu(units);
            for (int tile = 0; tile < kernel.tile_count(); ++tile) {
                if (kernel.why_not(w, tile, device).empty()) {
                    const Correctness verdict = test::run_emulated(kernel, w, tile, device);
                    EXPECT_TRUE(verdict.passed) << keys << " keys, " << units << " SMs, "
                                                << kernel.tile_text(tile) << ": " << verdict.why;
                    ++checked;
                }
            }
        }
    }
    EXPECT_EQ(checked, 8 * 3 * 2);
}

}  // namespace
}  // namespace raceline

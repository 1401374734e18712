// SPDX-License-Identifier: Apache-2.0
// Trees of new tokens on the plain emulated machine: simt_tree's own source, judged by the gate.
#include <gtest/gtest.h>

#include "registry/registry.hpp"
#include "tests/kernels/tree_cases.hpp"
#include "tests/proof/emulated_case.hpp"
#include "tests/proof/proof.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

TEST(EmulatedSimtTree, RandomTreesPassTheGate) {
    constexpr Draw draws[] = {Draw::plain, Draw::outliers, Draw::non_finite};
    const Kernel& kernel = find_kernel("simt_tree");
    for (std::uint64_t n = 0; n < 200; ++n) {
        const std::string shape = test::tree_shape(n, n % 2 == 0 ? 32 : 5, true, false);
        const Workload w = parse_shape(shape);
        const Device device = test::small_hopper_gpu(1 + static_cast<int>(n % 4));
        int tile = static_cast<int>(n / 4 % 3);
        tile -= kernel.why_not(w, tile, device).empty() ? 0 : 1;  // wide rows, fewer of them
        ASSERT_EQ(kernel.why_not(w, tile, device), "") << shape;
        const Correctness verdict = test::run_emulated(kernel, w, tile, device, draws[n % 3]);
        EXPECT_TRUE(verdict.passed)
            << shape << ' ' << kernel.tile_text(tile) << ": " << verdict.why;
    }
}

}  // namespace
}  // namespace raceline

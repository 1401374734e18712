// SPDX-License-Identifier: Apache-2.0
// Clocks of prefill_sm90_fp8's blocks.
#include <gtest/gtest.h>

#include "kernels/prefill_sm90/counts.hpp"

namespace raceline {
namespace {

namespace prefill = kernels::prefill_sm90_fp8;

// At head dim 256 the busiest transposing warp has 16 subtiles of a block of 96 keys, and nothing
// else of the block takes as long; where V comes transposed there is nobody to wait for. At 128 it
// has eight, and others take longer.
TEST(PrefillSm90Fp8Clocks, a_block_waits_for_the_busiest_transposing_warp) {
    EXPECT_DOUBLE_EQ(prefill::clocks_of_block({256, 128, 96, 2, 1, 0, 0}, false, 2), 172 * 16);
    EXPECT_LT(prefill::clocks_of_block({256, 128, 96, 3, 1, 0, 1}, false, 2), 172 * 16);
    EXPECT_GT(prefill::clocks_of_block({128, 192, 96, 3, 1, 0, 0}, false, 3), 172 * 8);
}

}  // namespace
}  // namespace raceline

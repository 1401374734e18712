// SPDX-License-Identifier: Apache-2.0
// How rows_cuda reads a chain that it has no code for.
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "kernels/rows_cuda/phrases.hpp"

namespace raceline {
namespace {

// What code that knows no chain reads: a norm or softmax is one instruction.
TEST(RowsPhrases, a_norm_is_read_as_one_instruction) {
    namespace rows = kernels::rows_cuda;
    using enum RowStep;
    constexpr std::array chain{add, layernorm, tanh, softmax, rmsnorm, store, bias};
    const rows::Phrases phrases = rows::phrases_of(row_program(chain));
    const std::vector<RowInstruction> expected{{RowOp::add_matrix, RowFinish::none, 1},
                                               {RowOp::reduce_sum, RowFinish::negative_mean, 2},
                                               {RowOp::tanh, RowFinish::none, 0},
                                               {RowOp::reduce_max, RowFinish::negated, 0},
                                               {RowOp::reduce_squares, RowFinish::inverse_root, 4},
                                               {RowOp::store, RowFinish::none, 5},
                                               {RowOp::add_vector, RowFinish::none, 6}};
    EXPECT_EQ(std::vector(phrases.list.begin(), phrases.list.begin() + phrases.size), expected);
}

}  // namespace
}  // namespace raceline

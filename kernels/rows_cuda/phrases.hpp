// SPDX-License-Identifier: Apache-2.0
// A program as code reads it that knows no chain: a norm or softmax is one instruction, that of its
// first reduction.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cuda {

struct Phrases {
    std::array<RowInstruction, longest_row_chain> list{};
    std::int32_t size = 0;
};

/// The instructions that row_program makes of a step which begins so.
constexpr std::int32_t instructions_of(RowOp first) {
    switch (first) {
        case RowOp::reduce_max: return 5;
        case RowOp::reduce_sum: return 6;
        case RowOp::reduce_squares: return 3;
        default: return 1;
    }
}

constexpr Phrases phrases_of(const RowProgram& program) {
    Phrases phrases;
    for (std::int32_t i = 0; i < program.size;) {
        const RowInstruction* const first = &program.list[static_cast<std::size_t>(i)];
        RowInstruction phrase = *first;
        const std::int32_t length = instructions_of(phrase.op);
        // The first operand among them; a bias stands behind its gain.
        const RowInstruction* const operand = std::find_if(
            first, first + length,
            [](const RowInstruction& its) { return !is_reduction(its.op) && its.tensor != 0; });
        phrase.tensor = operand == first + length ? 0 : operand->tensor;
        phrases.list[static_cast<std::size_t>(phrases.size++)] = phrase;
        i += length;
    }
    return phrases;
}

}  // namespace raceline::kernels::rows_cuda

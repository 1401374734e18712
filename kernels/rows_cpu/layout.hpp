// SPDX-License-Identifier: Apache-2.0
// How a matrix is dealt out to tasks and what a thread holds of it: one place for launch, counts
// and workspace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/rows_cpu/tile.hpp"
#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cpu {

/// Where elements stop on their way through registers: at what needs the whole row.
constexpr bool is_stop(RowOp op) {
    return is_reduction(op) || op == RowOp::rope;
}

/// Whether elements are still the operand's behind so many steps.
constexpr bool leaves_elements(std::span<const RowInstruction> steps) {
    return std::ranges::all_of(steps,
                               [](const RowInstruction& step) { return is_reduction(step.op); });
}

constexpr std::int64_t passes_of(std::span<const RowInstruction> steps) {
    std::int64_t passes = 1;
    for (const RowInstruction& step : steps) {
        passes += is_stop(step.op) ? 1 : 0;
    }
    return passes;
}

struct Layout {
    std::int64_t elements;  ///< of the matrix
    std::int64_t length;  ///< of one run of the program: a row, or any part where there are no rows
    std::int64_t runs, runs_of_task;
    bool holds_rows;  ///< a row stays in the buffer between two passes

    /// A row in fp32, with room for the vectors that reach beyond its end.
    [[nodiscard]] std::size_t scratch_bytes() const {
        constexpr std::int64_t longest_group = 64;  // floats
        const std::int64_t held = holds_rows ? (length / longest_group + 2) * longest_group : 0;
        return static_cast<std::size_t>(held) * sizeof(float);
    }
    [[nodiscard]] std::int64_t tasks() const { return (runs - 1) / runs_of_task + 1; }
};

inline Layout layout_of(const RowProgram& program, std::int64_t rows, std::int64_t width) {
    const bool by_rows = knows_rows(program);
    Layout layout{};
    layout.elements = rows * width;
    layout.length = by_rows ? width : std::min(layout.elements, elements_of_task);
    layout.runs = (layout.elements - 1) / layout.length + 1;
    layout.runs_of_task = std::max<std::int64_t>(1, elements_of_task / layout.length);
    layout.holds_rows = has_reductions(program) || has_rope(program);
    return layout;
}

}  // namespace raceline::kernels::rows_cpu

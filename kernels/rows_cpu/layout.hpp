// SPDX-License-Identifier: Apache-2.0
// How a matrix is dealt out to tasks and what a thread holds of it: one place for launch, counts
// and workspace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "kernels/rows_cpu/tile.hpp"
#include "workload/row_program.hpp"

namespace raceline::kernels::rows_cpu {

struct Layout {
    std::int64_t elements;  ///< of the matrix
    std::int64_t
        length;  ///< of one run of the program: a row, or any piece where there are no rows
    std::int64_t runs, runs_of_task;
    std::int64_t block;
    bool holds_rows;  ///< a row stays in the buffer between two passes

    /// Floats of the row's buffer and of a block, with room for the vectors that reach beyond them.
    [[nodiscard]] std::int64_t held() const { return padded(holds_rows ? length : block); }
    [[nodiscard]] std::int64_t padded_block() const { return padded(block); }
    [[nodiscard]] std::size_t scratch_bytes() const {
        return static_cast<std::size_t>(held() + 2 * padded_block()) * sizeof(float);
    }
    [[nodiscard]] std::int64_t tasks() const { return (runs - 1) / runs_of_task + 1; }

private:
    static constexpr std::int64_t longest_vector = 64;  // floats; a multiple of a line, too
    static std::int64_t padded(std::int64_t count) {
        return (count / longest_vector + 2) * longest_vector;
    }
};

inline Layout layout_of(const RowProgram& program, std::int64_t rows, std::int64_t width,
                        std::int64_t head, const Tile& tile) {
    const bool by_rows = knows_rows(program);
    Layout layout{};
    layout.elements = rows * width;
    layout.length = by_rows ? width : std::min(layout.elements, elements_of_task);
    layout.runs = (layout.elements - 1) / layout.length + 1;
    layout.runs_of_task = std::max<std::int64_t>(1, elements_of_task / layout.length);
    // Whole heads, and whole vectors of any length.
    const std::int64_t unit = has_rope(program) ? std::lcm<std::int64_t>(head, 64) : 64;
    layout.block = std::max<std::int64_t>(1, tile.block / unit) * unit;
    layout.holds_rows = has_reductions(program);
    return layout;
}

}  // namespace raceline::kernels::rows_cpu

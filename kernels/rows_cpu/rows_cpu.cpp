// SPDX-License-Identifier: Apache-2.0
// Chains of rows on a CPU: record and counts.
#include <utility>
#include <vector>

#include "kernels/rows_cpu/layout.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "model/simd_functions.hpp"
#include "registry/operation_kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::rows_cpu {
namespace {

RowProgram program_of(const Workload& w) {
    std::vector<RowStep> chain;
    for (const std::string_view name : steps_of(w.word("steps"))) {
        chain.push_back(find_row_step(name)->step);
    }
    return row_program(chain);
}

Layout layout_of(const Workload& w) {
    return rows_cpu::layout_of(program_of(w), w.extent(grid_rows), w.extent(grid_width));
}

// What is counted are plain lane operations of floats, of which the probe of `op.simd` starts as
// many as there is room for. Shifts, masks and sums of integers have twice as many places to run
// and count half; loads and stores have places of their own and count nothing, nor does the choice
// of a step.

/// For each element that comes from memory: group-inl.hpp.
double slots_of_load(DType type, bool in_order) {
    switch (type) {
        case DType::fp32: return 0;
        case DType::fp16: return counted(1, "converted");
        default: return in_order ? counted(1, "widened, shifted") : counted(0.5, "shift or mask");
    }
}

double slots_of_put(DType type, bool in_order) {
    switch (type) {
        case DType::fp32: return 0;
        case DType::fp16: return counted(1.25, "converted, half of two put together");
        default:
            return counted(3, "rounded by four of integers, looked at for NaN by one") +
                   (in_order ? counted(1.5, "shifted, cut, put together")
                             : counted(0.75, "shift or mask, half of two put together"));
    }
}

/// Of one step on one element.
double slots_of(RowOp op, double load, double put) {
    switch (op) {
        case RowOp::relu: return counted(1.5, "compared, masked");
        case RowOp::gelu: return gelu_slots();
        case RowOp::silu:
        case RowOp::sigmoid: return sigmoid_slots();
        case RowOp::tanh: return tanh_slots();
        case RowOp::exp: return exp_slots();
        case RowOp::add_matrix:
        case RowOp::sub_matrix:
        case RowOp::mul_matrix:
        case RowOp::add_vector:
        case RowOp::mul_vector: return 1 + load;
        case RowOp::square:
        case RowOp::add_statistic:
        case RowOp::mul_statistic: return 1;
        case RowOp::rope: return counted(3, "two products and a sum");
        case RowOp::reduce_max: return counted(2, "compared, and looked at for NaN");
        case RowOp::reduce_sum:
        case RowOp::reduce_squares: return 1;
        case RowOp::store: return put;
    }
    return 0;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const Layout layout = layout_of(w);
    const RowProgram program = program_of(w);
    const double load = slots_of_load(w.dtype, has_rope(program));
    const double put = slots_of_put(w.dtype, has_rope(program));
    double slots = load + put;
    for (std::size_t i = 0; i < program.steps().size(); ++i) {
        const RowOp op = program.steps()[i].op;
        // Elements that no step has changed are loaded once more behind a sum.
        slots += slots_of(op, load, put) +
                 (is_reduction(op) && leaves_elements(program.steps().first(i)) ? load : 0);
    }
    Counts c =
        one_pass_in_turns(w, "rows", {{"op.simd", slots * static_cast<double>(layout.elements)}},
                          layout.tasks(), tile.stream != 0);
    add_imbalance(c, layout.elements, layout.runs_of_task * layout.length);
    return one_launch(std::move(c));
}

std::size_t workspace(const Workload& w, const Tile& /*tile*/, const Device& device) {
    return static_cast<std::size_t>(std::max(1, device.units)) * layout_of(w).scratch_bytes();
}

}  // namespace
}  // namespace raceline::kernels::rows_cpu

RACELINE_OPERATION_KERNEL(
    rows_cpu,
    record_of("rows", "chains of elementwise steps, norms, softmax and rope in one pass, on CPUs",
              Engine::cpu, tile_list, all_on_cpus<Tile>, counts, workspace))

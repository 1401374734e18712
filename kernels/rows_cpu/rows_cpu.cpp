// SPDX-License-Identifier: Apache-2.0
// Chains of rows on a CPU: record and counts.
#include <vector>

#include "kernels/rows_cpu/layout.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/kernel.hpp"
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

Layout layout_of(const Workload& w, const Tile& tile) {
    return layout_of(program_of(w), w.extent(grid_rows), w.extent(grid_width), w.extent("d"), tile);
}

std::string supports(const Workload& /*w*/, const Tile& /*tile*/, const Device& device) {
    return device.kind == DeviceKind::cpu ? "" : "it runs on CPUs";
}

/// A store takes a port for a cycle, in which two plain operations could start.
constexpr Constant store_slots =
    manual("rows_cpu.store_slots", 2,
           "one 512-bit store a cycle: AMD's optimization guide for family 1Ah, Intel's for server "
           "cores since Skylake");
/// A division of a vector of floats keeps its unit busy for so many cycles, in which two plain
/// operations could start.
constexpr Constant division_slots =
    assumed("rows_cpu.division_slots", 10,
            "a vector of floats is divided in about five cycles on server cores of the last years");

/// Plain lane operations of one step on one element, stores included.
double slots_of(RowOp op, bool widens) {
    const double kept = store_slots;
    const double operand = widens ? counted(2, "to_float, an operand") + kept : 0;
    switch (op) {
        case RowOp::relu: return counted(2, "relu") + kept;
        case RowOp::gelu: return counted(24, "gelu with tanh") + division_slots + kept;
        case RowOp::silu:
        case RowOp::sigmoid: return counted(26, "exp, sum, quotient") + division_slots + kept;
        case RowOp::tanh: return counted(19, "tanh in elements-inl.hpp") + division_slots + kept;
        case RowOp::exp: return counted(23, "exp in elements-inl.hpp") + kept;
        case RowOp::add_matrix:
        case RowOp::sub_matrix:
        case RowOp::mul_matrix:
        case RowOp::add_vector:
        case RowOp::mul_vector: return 1 + operand + kept;
        case RowOp::square:
        case RowOp::add_statistic:
        case RowOp::mul_statistic: return 1 + kept;
        case RowOp::rope: return counted(3, "two products and a sum") + kept;
        case RowOp::reduce_max: return counted(3, "compared, and looked at for NaN");
        case RowOp::reduce_sum:
        case RowOp::reduce_squares: return 1;
        case RowOp::store: return kept;
    }
    return 0;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const Layout layout = layout_of(w, tile);
    const bool widens = w.dtype != DType::fp32;
    double slots = counted(1, "to_float") + (widens ? counted(1, "widened") : 0.0) + store_slots;
    slots += widens ? counted(6, "from_float, rounded") + store_slots : 0.0;
    slots += store_slots;
    for (const RowInstruction& step : program_of(w).steps()) {
        slots += slots_of(step.op, widens);
    }
    return {one_pass(w, "rows", {{"op.simd", slots * static_cast<double>(layout.elements)}},
                     layout.tasks(), tile.stream != 0)};
}

std::size_t workspace(const Workload& w, const Tile& tile, const Device& device) {
    return static_cast<std::size_t>(std::max(1, device.units)) * layout_of(w, tile).scratch_bytes();
}

const KernelRecord<Tile> record{
    .name = "rows_cpu",
    .summary = "chains of elementwise steps, norms, softmax and rope in one pass, on CPUs",
    .engine = Engine::cpu,
    .tiles = std::span<const Tile>(tile_list),
    .functions = {supports, counts, computed_in_fp32, workspace},
    .op = "rows"};

}  // namespace
}  // namespace raceline::kernels::rows_cpu

RACELINE_OPERATION_KERNEL(rows_cpu, record)

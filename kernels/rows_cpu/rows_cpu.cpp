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

Layout layout_of(const Workload& w) {
    return rows_cpu::layout_of(program_of(w), w.extent(grid_rows), w.extent(grid_width));
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

/// Plain lane operations for each element that comes from memory: group-inl.hpp.
double slots_of_load(DType type, bool in_order) {
    switch (type) {
        case DType::fp32: return counted(1, "loaded");
        case DType::fp16: return counted(2.5, "half a load, converted in two");
        default:
            return in_order ? counted(3, "loaded and widened, shifted")
                            : counted(1.5, "half a load, a shift or a mask");
    }
}

double slots_of_put(DType type, bool in_order) {
    const double stored = store_slots * static_cast<double>(bytes_of(type)) / sizeof(float);
    switch (type) {
        case DType::fp32: return stored;
        case DType::fp16:
            return counted(2.5, "converted in two, half of two put together") + stored;
        default:
            return counted(5, "rounded, looked at for NaN") +
                   (in_order ? counted(3, "shifted, cut, put together")
                             : counted(1.5, "a shift or a mask, half of two put together")) +
                   stored;
    }
}

/// Which step it is, is asked once for four vectors.
constexpr double choice = 1;

/// Plain lane operations of one step on one element.
double slots_of(RowOp op, double load, double put) {
    const double kept = counted(1, "loaded from the buffer") + store_slots;
    switch (op) {
        case RowOp::relu: return choice + counted(2, "relu");
        case RowOp::gelu: return choice + counted(24, "gelu with tanh") + division_slots;
        case RowOp::silu:
        case RowOp::sigmoid: return choice + counted(26, "exp, sum, quotient") + division_slots;
        case RowOp::tanh: return choice + counted(19, "tanh in elements-inl.hpp") + division_slots;
        case RowOp::exp: return choice + counted(23, "exp in elements-inl.hpp");
        case RowOp::add_matrix:
        case RowOp::sub_matrix:
        case RowOp::mul_matrix:
        case RowOp::add_vector:
        case RowOp::mul_vector: return choice + 1 + load;
        case RowOp::square:
        case RowOp::add_statistic:
        case RowOp::mul_statistic: return choice + 1;
        case RowOp::rope: return kept + counted(3, "two products and a sum") + kept;
        case RowOp::reduce_max: return kept + counted(2, "compared, and looked at for NaN");
        case RowOp::reduce_sum:
        case RowOp::reduce_squares: return kept + 1;
        case RowOp::store: return choice + put;
    }
    return 0;
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const Layout layout = layout_of(w);
    const RowProgram program = program_of(w);
    const double load = slots_of_load(w.dtype, has_rope(program));
    const double put = slots_of_put(w.dtype, has_rope(program));
    double slots = load + put;
    for (const RowInstruction& step : program.steps()) {
        slots += slots_of(step.op, load, put);
    }
    return {one_pass_in_turns(w, "rows",
                              {{"op.simd", slots * static_cast<double>(layout.elements)}},
                              layout.tasks(), tile.stream != 0)};
}

std::size_t workspace(const Workload& w, const Tile& /*tile*/, const Device& device) {
    return static_cast<std::size_t>(std::max(1, device.units)) * layout_of(w).scratch_bytes();
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

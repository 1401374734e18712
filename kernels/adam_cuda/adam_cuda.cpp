// SPDX-License-Identifier: Apache-2.0
// Adam on a GPU: record and counts.
#include <utility>
#include <vector>

#include "kernels/adam_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::adam_cuda {
namespace {

std::int64_t parameters_of(const Workload& w) {
    return w.extent(grid_rows) * w.extent(grid_width);
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    const std::string reason = why_not_cuda(device);
    return !reason.empty() || ctas_of(parameters_of(w), tile) <= most_ctas
               ? reason
               : "it counts CTAs in 31 bits";
}

/// Instructions of a thread, which has eight parameters: a profiler's count of what was executed
/// (receipts/h200/2026-11-27-operations-*-2ed4b9a6823e).
double slots_of_thread(const Workload& w) {
    return counted(437, "fp32 without a master, moments in fp32") +
           (w.word("state") == "bf16" ? counted(22, "moments widened and packed") : 0) +
           (w.dtype == DType::fp32 ? 0 : counted(11, "parameters and gradients likewise")) +
           (w.word("master") == "none" ? 0 : counted(15, "the master stored"));
}

// A warp's instructions wait for each other: roots and quotients are long chains. The term was
// added when short calls had been predicted a fifth too fast; its size was not fitted to them.
constexpr Constant dependent_clocks = manual(
    "adam_cuda.dependent_clocks", 4,
    "a dependent instruction of most arithmetic: CUDA C++ Programming Guide, multiprocessor level");

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const auto parameters = static_cast<double>(parameters_of(w));
    const Work work{
        {"op.issue", parameters / per_thread * slots_of_thread(w)},
        {"op.ex2", parameters * counted(2, "the root's and the quotient's first guesses")}};
    Counts c = one_wave_pass(w, work, ctas_of(parameters_of(w), tile), tile.threads);
    c.steps.front().clocks = slots_of_thread(w) * dependent_clocks;
    c.registers = registers;  // the launch bound
    c.bytes_in_flight = c.work["byte.dram_read"] / parameters * per_thread * tile.threads;
    return one_cold_launch(std::move(c), device, resident_threads / tile.threads);
}

}  // namespace
}  // namespace raceline::kernels::adam_cuda

RACELINE_OPERATION_KERNEL(adam_cuda, record_of("adam", "one step of Adam in one pass, on any GPU",
                                               Engine::cuda, tile_list, supports, counts))

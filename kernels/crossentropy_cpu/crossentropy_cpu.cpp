// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on a CPU: record and counts.
#include <vector>

#include "kernels/crossentropy_cpu/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::crossentropy_cpu {
namespace {

std::vector<Counts> counts(const Workload& w, const Tile& /*tile*/, const Device& /*device*/) {
    const std::int64_t rows = w.extent(grid_rows);
    // Operations of integers count half, loads and stores nothing, as in rows_cpu.cpp.
    const double load = w.dtype == DType::fp32   ? 0
                        : w.dtype == DType::fp16 ? counted(1, "converted")
                                                 : counted(0.5, "shift or mask");
    const double slots = load + counted(2, "compared, looked at for NaN") +
                         counted(13, "exp2 in elements-inl.hpp, added");
    const auto elements = static_cast<double>(rows) * static_cast<double>(w.extent(grid_width));
    return {one_pass_in_turns(w, "row", {{"op.simd", slots * elements}}, rows, true)};
}

}  // namespace
}  // namespace raceline::kernels::crossentropy_cpu

RACELINE_OPERATION_KERNEL(crossentropy_cpu,
                          record_of("crossentropy",
                                    "cross-entropy in one pass over the logits, on CPUs",
                                    Engine::cpu, tile_list, all_on_cpus<Tile>, counts))

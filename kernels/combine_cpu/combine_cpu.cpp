// SPDX-License-Identifier: Apache-2.0
// combine on a CPU: its record and its counts.
#include <utility>
#include <vector>

#include "kernels/combine_cpu/tile.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"

namespace raceline::kernels::combine_cpu {
namespace {

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const std::int64_t rows = w.extent("rows") * w.extent("heads");
    Counts c = one_pass(w, "rows", {{"flop.fma.fp32", w.flops()}},
                        (rows + tile.rows - 1) / tile.rows, true);
    add_imbalance(c, rows, tile.rows);
    return one_launch(std::move(c));
}

}  // namespace

}  // namespace raceline::kernels::combine_cpu

RACELINE_OPERATION_KERNEL(combine_cpu, record_of("combine", "partial results as one, on CPUs",
                                                 Engine::cpu, tile_list, all_on_cpus<Tile>, counts))

// SPDX-License-Identifier: Apache-2.0
// combine on a CPU: its record and its counts.
#include <vector>

#include "kernels/combine_cpu/tile.hpp"
#include "model/one_pass.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::combine_cpu {
namespace {

std::string supports(const Workload& /*w*/, const Tile& /*tile*/, const Device& device) {
    return device.kind == DeviceKind::cpu ? "" : "it runs on CPUs";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const std::int64_t rows = w.extent("rows") * w.extent("heads");
    return {one_pass(w, "rows", {{"flop.fma.fp32", w.flops()}}, (rows + tile.rows - 1) / tile.rows,
                     true)};
}

const KernelRecord<Tile> record{
    .name = "combine_cpu",
    .summary = "partial results as one, on CPUs",
    .engine = Engine::cpu,
    .tiles = std::span<const Tile>(tile_list),
    .functions = {supports, counts, computed_in_fp32, no_workspace<Tile>},
    .op = "combine"};

}  // namespace

}  // namespace raceline::kernels::combine_cpu

RACELINE_OPERATION_KERNEL(combine_cpu, record)

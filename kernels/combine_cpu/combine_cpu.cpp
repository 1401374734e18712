// SPDX-License-Identifier: Apache-2.0
// combine on a CPU: its record and its counts.
#include <vector>

#include "kernels/combine_cpu/tile.hpp"
#include "registry/kernel.hpp"

namespace raceline::kernels::combine_cpu {
namespace {

std::string supports(const Workload& /*w*/, const Tile& /*tile*/, const Device& device) {
    return device.kind == DeviceKind::cpu ? "" : "it runs on CPUs";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const std::int64_t rows = w.extent("rows") * w.extent("heads");
    Counts c;
    c.launch = "main";
    c.work = {{"flop.fma.fp32", w.flops()},
              {"byte.dram_read", w.bytes_read()},
              {"byte.dram_write", w.bytes_written()}};
    c.ctas = (rows + tile.rows - 1) / tile.rows;
    c.balanced_order = true;
    c.steps = {{.name = "rows",
                .repeat = 1,
                .work = c.work * (1 / static_cast<double>(c.ctas)),
                .waits = {}}};
    c.overlap = {{"flop.fma.fp32", "byte.dram_read", "byte.dram_write"}};
    return {c};
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

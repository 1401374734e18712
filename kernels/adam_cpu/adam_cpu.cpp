// SPDX-License-Identifier: Apache-2.0
// Adam on a CPU: record and counts.
#include <algorithm>
#include <vector>

#include "kernels/adam_cpu/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::adam_cpu {
namespace {

std::string supports(const Workload& /*w*/, const Tile& /*tile*/, const Device& device) {
    return device.kind == DeviceKind::cpu ? "" : "it runs on CPUs";
}

constexpr Constant quotient_and_root =
    assumed("adam_cpu.quotient_and_root", 22,
            "a vector of floats is divided in about five cycles on server cores of the last years, "
            "its root takes six, and each cycle could start two plain operations");

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    const std::int64_t elements = w.extent(grid_rows) * w.extent(grid_width);
    const double slots = counted(4, "to_float") + counted(8, "step_block") + quotient_and_root +
                         counted(12, "stores, copied once more");
    return {one_pass(w, "blocks", {{"op.simd", slots * static_cast<double>(elements)}},
                     (elements - 1) / parameters_of_task + 1, tile.stream != 0)};
}

std::size_t workspace(const Workload& /*w*/, const Tile& tile, const Device& device) {
    return static_cast<std::size_t>(std::max(1, device.units)) * buffers *
           static_cast<std::size_t>(tile.block) * sizeof(float);
}

const KernelRecord<Tile> record{.name = "adam_cpu",
                                .summary = "one step of Adam in one pass, on CPUs",
                                .engine = Engine::cpu,
                                .tiles = std::span<const Tile>(tile_list),
                                .functions = {supports, counts, computed_in_fp32, workspace},
                                .op = "adam"};

}  // namespace
}  // namespace raceline::kernels::adam_cpu

RACELINE_OPERATION_KERNEL(adam_cpu, record)

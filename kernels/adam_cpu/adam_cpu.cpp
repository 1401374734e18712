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
    // Operations of integers count half, loads and stores nothing, as in rows_cpu.cpp.
    const auto load = [](DType type) {
        return type == DType::fp32 ? 0 : counted(1, "widened, shifted");
    };
    const auto put = [](DType type) {
        return type == DType::fp32 ? 0 : counted(4.5, "rounded, looked at, cut, put together");
    };
    const DType state = w.word("state") == "bf16" ? DType::bf16 : DType::fp32;
    const bool master = w.word("master") == "fp32";
    const double slots = load(master ? DType::fp32 : w.dtype) + load(w.dtype) + 2 * load(state) +
                         counted(8, "step") + quotient_and_root + put(w.dtype) + 2 * put(state) +
                         (master ? put(DType::fp32) : 0);
    return {one_pass_in_turns(w, "blocks", {{"op.simd", slots * static_cast<double>(elements)}},
                              (elements - 1) / parameters_of_task + 1, tile.stream != 0)};
}

const KernelRecord<Tile> record{
    .name = "adam_cpu",
    .summary = "one step of Adam in one pass, on CPUs",
    .engine = Engine::cpu,
    .tiles = std::span<const Tile>(tile_list),
    .functions = {supports, counts, computed_in_fp32, no_workspace<Tile>},
    .op = "adam"};

}  // namespace
}  // namespace raceline::kernels::adam_cpu

RACELINE_OPERATION_KERNEL(adam_cpu, record)

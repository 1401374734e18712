// SPDX-License-Identifier: Apache-2.0
// Adam on a CPU: record and counts.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/adam_cpu/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::adam_cpu {
namespace {

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
    Counts c = one_pass_in_turns(w, "blocks", {{"op.simd", slots * static_cast<double>(elements)}},
                                 (elements - 1) / elements_of_task + 1, tile.stream != 0);
    add_imbalance(c, elements, elements_of_task);
    return one_launch(std::move(c));
}

}  // namespace
}  // namespace raceline::kernels::adam_cpu

RACELINE_OPERATION_KERNEL(adam_cpu, record_of("adam", "one step of Adam in one pass, on CPUs",
                                              Engine::cpu, tile_list, all_on_cpus<Tile>, counts))

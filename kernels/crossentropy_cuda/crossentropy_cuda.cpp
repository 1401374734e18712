// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on a GPU: record and counts.
#include <cmath>
#include <vector>

#include "kernels/crossentropy_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/kernel.hpp"
#include "workload/operation.hpp"

namespace raceline::kernels::crossentropy_cuda {
namespace {

std::string supports(const Workload& w, const Tile& /*tile*/, const Device& device) {
    if (device.kind != DeviceKind::cuda) {
        return "it needs a CUDA device";
    }
    return w.extent(grid_rows) <= most_ctas ? "" : "it counts rows in 31 bits";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const auto rows = static_cast<double>(w.extent(grid_rows));
    const auto width = static_cast<double>(w.extent(grid_width));
    const double per_chunk = 16 / bytes_of(w.dtype);
    const double turns = std::ceil(width / per_chunk / tile.threads / tile.at_once);
    const Work work{
        {"op.issue",
         rows * width *
             (w.dtype == DType::fp32 ? counted(10, "compared, expf, added")
                                     : counted(6, "widened, compared, less, product, ex2, added"))},
        {"op.ex2", rows * width}};
    Counts c = one_wave_pass(w, work, w.extent(grid_rows), tile.threads);
    c.registers = registers;  // the launch bound
    c.smem_bytes = 2 * 32 * static_cast<std::int64_t>(sizeof(float));
    c.bytes_in_flight = 16.0 * tile.threads * tile.at_once;
    // Each turn of the loop waits for its loads.
    c.steps.front().repeat = turns;
    c.steps.front().work = c.work * (1 / rows / turns);
    // Exchanges of 32 lanes, a barrier, and again: about as long as L2 takes to answer. Then one
    // lane reads the target, and after it that target's logit, which was read before.
    c.steps.push_back({"sums", 1, {}, "latency.l2"});
    c.steps.push_back({"target", 1, {}, "latency.dram"});
    c.steps.push_back({"target's logit", 1, {}, "latency.l2"});
    add_cold_code(c, device, resident_threads / tile.threads);
    return {c};
}

const KernelRecord<Tile> record{
    .name = "crossentropy_cuda",
    .summary = "cross-entropy in one pass over the logits, on any GPU",
    .engine = Engine::cuda,
    .tiles = std::span<const Tile>(tile_list),
    .functions = {supports, counts, computed_in_fp32, no_workspace<Tile>},
    .op = "crossentropy"};

}  // namespace
}  // namespace raceline::kernels::crossentropy_cuda

RACELINE_OPERATION_KERNEL(crossentropy_cuda, record)

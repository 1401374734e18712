// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index, on a GPU: record and counts.
#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/embedding_cuda/tile.hpp"
#include "model/constant.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"
#include "registry/why_not.hpp"

namespace raceline::kernels::embedding_cuda {
namespace {

std::int64_t row_bytes(const Workload& w) {
    return w.extent("d") * static_cast<std::int64_t>(bytes_of(w.dtype));
}

std::string supports(const Workload& w, const Tile& tile, const Device& device) {
    const std::string reason = why_not_cuda(device);
    return !reason.empty() || ctas_of(w.extent("tokens"), row_bytes(w), tile) <= most_ctas
               ? reason
               : "it counts CTAs in 31 bits";
}

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& device) {
    const bool joins = joins_chunks(row_bytes(w));
    const auto unit = static_cast<double>(joins ? chunk_bytes : unit_of(row_bytes(w)));
    const auto tokens = static_cast<double>(w.extent("tokens"));
    const auto row = static_cast<double>(row_bytes(w));
    const double units = tokens * row / unit;
    // A unit's address needs a division of 64-bit numbers, a chunk's the upper half of a product.
    const double slots = joins ? counted(70, "index, product, bounds, two loads, shifts, store") +
                                     counted(35, "two more, mixed, in a warp where a row ends") *
                                         std::min(1.0, 32.0 * chunk_bytes / row)
                               : counted(60, "index, division, load and store of a unit");
    const int resident = joins ? resident_threads_joining : resident_threads;
    const Work work{{"op.issue", units * slots}};
    Counts c =
        one_wave_pass(w, work, ctas_of(w.extent("tokens"), row_bytes(w), tile), tile.threads);
    const double all = tokens * row + tokens * 4;
    c.work["byte.l2"] += all - w.bytes_read();
    c.reread = {{all - w.bytes_read(), w.bytes_read()}};
    c.registers = registers_beside(resident);  // the launch bound
    c.bytes_in_flight = unit * tile.threads * tile.at_once;
    c.steps.front().repeat = 2;  // the index, then the row
    c.steps.front().work = c.work * (1 / c.steps.front().repeat / static_cast<double>(c.ctas));
    return one_cold_launch(std::move(c), device, resident / tile.threads);
}

}  // namespace
}  // namespace raceline::kernels::embedding_cuda

RACELINE_OPERATION_KERNEL(embedding_cuda,
                          record_of("embedding", "rows of a table by index, on any GPU",
                                    Engine::cuda, tile_list, supports, counts))

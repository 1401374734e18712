// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index, on a CPU: record and counts.
#include <vector>

#include "kernels/embedding_cpu/tile.hpp"
#include "model/one_pass.hpp"
#include "registry/operation_kernel.hpp"

namespace raceline::kernels::embedding_cpu {
namespace {

std::vector<Counts> counts(const Workload& w, const Tile& tile, const Device& /*device*/) {
    Counts c = one_pass(w, "rows", {}, (w.extent("tokens") - 1) / tile.rows + 1, tile.stream != 0);
    add_imbalance(c, w.extent("tokens"), tile.rows);
    // A row that is asked for again comes from the cache if the rows in between fit there.
    const double row = static_cast<double>(w.extent("d")) * bytes_of(w.dtype);
    const auto tokens = static_cast<double>(w.extent("tokens"));
    const double all = tokens * (row + static_cast<double>(sizeof(std::int32_t)));
    c.reread = {{all - w.bytes_read(), w.bytes_read()}};
    return {c};
}

}  // namespace
}  // namespace raceline::kernels::embedding_cpu

RACELINE_OPERATION_KERNEL(embedding_cpu,
                          record_of("embedding", "rows of a table by index, on CPUs", Engine::cpu,
                                    tile_list, all_on_cpus<Tile>, counts))

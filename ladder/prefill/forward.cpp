// SPDX-License-Identifier: Apache-2.0
#include "ladder/prefill/forward.hpp"

#include "registry/kernel.hpp"

namespace raceline::kernels::prefill {

std::string beyond_memory(const Workload& w, const Device& device) {
    const double matrix = static_cast<double>(w.batch * w.heads_q * w.seqlen_q) *
                          static_cast<double>(w.seqlen_k) * sizeof(float);
    if (device.memory_bytes > 0 && matrix > 0.5 * static_cast<double>(device.memory_bytes)) {
        return "its score matrix takes more than half of the device's memory";
    }
    return {};
}

int registers_of(const std::array<std::array<int, 4>, 3>& table, int rows, const Workload& w) {
    return tracks::registers_of(table[rows == 8 ? 0 : rows == 16 ? 1 : 2], w);
}

Work share_of(const Counts& launch, double ctas, double repeats) {
    Work share;
    for (const auto& [id, amount] : launch.work) {
        if (!id.starts_with("byte.dram")) {
            share[id] = amount / ctas / repeats;
        }
    }
    return share;
}

}  // namespace raceline::kernels::prefill

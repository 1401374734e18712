// SPDX-License-Identifier: Apache-2.0
#include "kernels/prefill_sm90_fp8/prepare_counts.hpp"

#include <algorithm>

#include "kernels/prefill_sm90_fp8/images.hpp"

namespace raceline::kernels::prefill_sm90_fp8 {

double images_read(const Workload& w, const Tile& tile) {
    std::int64_t blocks = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        blocks += gpu::divide_up(w.length_k(b), tile.keys);
    }
    return static_cast<double>(blocks * w.heads_kv);
}

double values_bytes(const Workload& w) {
    return static_cast<double>(w.tokens_k() * w.heads_kv * w.headdim_v);
}

Counts preparation(const Workload& w, const Tile& tile) {
    const double block = tile.block_bytes();
    const double images = images_read(w, tile);
    const double values = values_bytes(w);
    Counts c;
    c.launch = "transpose";
    c.work["byte.dram_read"] = values;
    c.work["byte.dram_write"] = images * block;
    c.work["byte.l2"] = values + images * block;
    c.work["byte.smem_lsu"] = images * 2 * block;
    // Some of the places of a packed batch are nobody's; their CTAs end at once.
    c.ctas = std::max<std::int64_t>(1, image_places(w, tile.keys) * w.heads_kv);
    c.threads = preparing_threads;
    c.registers = preparing_registers;
    c.smem_bytes = preparing_shared_bytes(tile);
    c.bytes_in_flight = block;
    c.steps = {{"fetch", 1, {{"byte.l2", block}}, "latency.dram"},
               {"transpose", 1, {{"byte.smem_lsu", 2 * block}}, ""},
               {"store", 1, {{"byte.l2", block}}, "latency.l2"}};
    c.overlap = {{"byte.smem_lsu", "byte.l2", "byte.dram_read", "byte.dram_write"}};
    return c;
}

}  // namespace raceline::kernels::prefill_sm90_fp8

// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/plan.hpp"

#include <algorithm>

#include "kernels/simt/index.hpp"
#include "kernels/simt/tree_tile.hpp"

namespace raceline::kernels::simt {
namespace {

int width_for(std::int64_t headdim_v) {
    const auto* found = std::lower_bound(v_widths.begin(), v_widths.end(), headdim_v);
    return found == v_widths.end() ? 0 : *found;
}

// Q, K and V tiles and the probabilities; the finish reuses the same bytes for outputs and sums.
std::int64_t shared_bytes(const Tile& t, int pitch, int v_width, bool shared_kv) {
    const std::int64_t staged = std::int64_t{t.rows + t.keys} * pitch +
                                (shared_kv ? 0 : std::int64_t{t.keys} * v_width) +
                                std::int64_t{t.rows} * t.key_warps * t.probability_pitch();
    const std::int64_t finish = std::int64_t{t.key_warps} * t.rows * (v_width + 2);
    return std::max(staged, finish) * static_cast<std::int64_t>(sizeof(float));
}

// The most keys that one CTA can see: a window bounds it, whatever the length.
std::int64_t longest_range(const Problem& s, const Tile& tile) {
    if (s.window.left < 0) {
        return s.seqlen_k;
    }
    // Without a right side the first query sees the most: the others' keys, too.
    const std::int64_t queries = (tile.rows - 1) / std::max<std::int64_t>(s.group(), 1) + 2;
    const std::int64_t seen =
        s.window.right < 0 ? s.seqlen_q : s.window.right + std::min(s.seqlen_q, queries);
    return std::min(s.seqlen_k, s.window.left + seen);
}

// CTAs that a unit holds at once. Registers are those declared for sm_90: what matters is that the
// workspace query and the launch agree, not that another architecture's count is met exactly.
std::int64_t resident_ctas(const Tile& tile, int declared, const Device& device,
                           std::int64_t smem) {
    constexpr std::int64_t reserved = 1024;  // bytes of the system (CUDA programming guide)
    const std::int64_t registers = (declared + 7LL) / 8 * 8;  // granularity
    std::int64_t most = std::min<std::int64_t>(device.smem_bytes_per_unit / (smem + reserved),
                                               device.threads_per_unit / tile.threads);
    if (registers > 0 && device.registers_per_unit > 0) {
        most = std::min(most, device.registers_per_unit / (registers * tile.threads));
    }
    return std::max<std::int64_t>(1, most);
}

// Splits fill the device once: as many as there is room for CTAs, at most one a tile of keys. The
// room does not depend on whether V shares K's tile, which the workspace query may not know.
std::int64_t splits_for(const Problem& s, const Tile& tile, std::int64_t resident,
                        const Device& device, std::int64_t ctas) {
    const std::int64_t room = resident * device.units / std::max<std::int64_t>(ctas, 1);
    const std::int64_t key_tiles = divide_up(longest_range(s, tile), tile.keys);
    return std::clamp<std::int64_t>(room, 1, std::max<std::int64_t>(key_tiles, 1));
}

}  // namespace

Plan make_plan(const Problem& s, const Tile& tile, const Device& device, Registers registers) {
    Plan p{};
    p.v_width = width_for(s.headdim_v);
    p.registers = registers(tile, p.v_width);
    p.depth = static_cast<int>((s.headdim + 15) / 16 * 16);
    p.pitch = p.depth + 4;
    p.shared_kv = s.shared_kv && s.headdim_v <= s.headdim && p.v_width <= p.depth;
    p.smem_bytes = shared_bytes(tile, p.pitch, p.v_width, p.shared_kv);
    p.row_tiles = divide_up(s.seqlen_q * s.group(), tile.rows);
    const std::int64_t base = p.row_tiles * s.heads_kv * s.batch;
    const std::int64_t unshared = shared_bytes(tile, p.pitch, p.v_width, false);
    p.splits =
        splits_for(s, tile, resident_ctas(tile, p.registers, device, unshared), device, base);
    p.ctas = base * p.splits;
    p.total_rows = s.batch * s.seqlen_q * s.heads_q;
    p.partial_width = static_cast<int>((s.headdim_v + 3) / 4 * 4);
    if (p.splits > 1) {
        // Sums of a row stand apart from its output; 16 bytes are for aligning the caller's
        // address.
        const std::int64_t floats = p.splits * p.total_rows * (p.partial_width + 2);
        p.workspace_bytes = static_cast<std::size_t>(floats) * sizeof(float) + 16;
    }
    return p;
}

Plan make_plan(const Workload& w, const Tile& tile, const Device& device) {
    return make_plan(problem_of(w), tile, device,
                     w.tree != 0 ? simt_tree::declared_registers : declared_registers);
}

}  // namespace raceline::kernels::simt

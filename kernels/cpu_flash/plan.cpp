// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_flash/plan.hpp"

#include <algorithm>
#include <tuple>

namespace raceline::kernels::cpu_flash {
namespace {

// Dynamic scheduling evens out what is left when there are this many tasks a core.
constexpr std::int64_t kTasksPerUnit = 4;
// A split pays for its partial result only if it covers some blocks of keys.
constexpr std::int64_t kDecodeKeys = 128;
constexpr std::int64_t kPrefillBlocks = 4;

std::int64_t target_tasks(int units) {
    return units == 1 ? 1 : kTasksPerUnit * units;
}

KeySpan span_of_rows(const TaskProblem& p, std::int64_t sequence, std::int64_t row0,
                     std::int64_t rows) {
    const KeySpan first = visible_keys(p, sequence, row0 / p.group());
    const KeySpan last = visible_keys(p, sequence, (row0 + rows - 1) / p.group());
    // Offsets grow with the row; rows before the first key or behind the last one see none.
    const std::int64_t begin = std::min(first.first, last.last);
    return {begin, std::max(begin, last.last)};
}

void split_keys(Plan& plan, const TaskProblem& p, const WorkTile& whole, std::int64_t chunk) {
    const std::int64_t keys = whole.key1 - whole.key0;
    const std::int64_t parts = std::max<std::int64_t>(1, divide_up(keys, chunk));
    if (parts == 1) {
        plan.work_tiles.push_back(whole);
        return;
    }
    plan.splits.push_back({whole.sequence, whole.row0, whole.rows, plan.slots, parts});
    // Even parts, in multiples of 4 keys so that register tiles stay full.
    const std::int64_t each = divide_up(divide_up(keys, parts), 4) * 4;
    for (std::int64_t i = 0; i < parts; ++i) {
        WorkTile work_tile = whole;
        work_tile.key0 = std::min(whole.key1, whole.key0 + i * each);
        work_tile.key1 = std::min(whole.key1, work_tile.key0 + each);
        work_tile.slot = plan.slots;
        plan.slots += p.heads_kv;
        plan.work_tiles.push_back(work_tile);
    }
}

}  // namespace

TaskProblem task_problem_of(const AttentionArgs& a) {
    TaskProblem p{problem_of(a)};
    p.lengths = {a.cu_seqlens_q, a.cu_seqlens_k, a.seqlens_k, a.seqlen_q, a.seqlen_k};
    p.head_major = a.heads_kv > 1 && a.k.head_stride > a.k.seq_stride;
    return p;
}

KeySpan visible_keys(const TaskProblem& p, std::int64_t sequence, std::int64_t query) {
    const WideBand band{p.lengths.q(sequence), p.lengths.k(sequence), p.window.left,
                        p.window.right};
    return {std::min(band.begin(query), band.length_k), std::max<std::int64_t>(0, band.end(query))};
}

bool is_decode(std::int64_t longest_q, std::int64_t group) {
    return longest_q * group <= kDecodeRows;
}

std::int64_t slot_rows(const TaskProblem& p, const Tile& tile) {
    const std::int64_t most = std::max<std::int64_t>(1, p.lengths.longest_q * p.group());
    return std::min<std::int64_t>(most, tile.rows);
}

std::int64_t most_slots(const TaskProblem& p, int units) {
    // Split rows of r > 1 work tiles have more than r / 2 chunks of keys each, so that all work
    // tiles are at most twice the chunks that the work is divided into. A decode work tile has a
    // slot a K/V head.
    const std::int64_t work_tiles = units == 1 ? 0 : 2 * target_tasks(units);
    return is_decode(p.lengths.longest_q, p.group()) ? work_tiles * p.heads_kv : work_tiles;
}

Plan make_plan(const TaskProblem& p, const Tile& tile, int units) {
    Plan plan;
    plan.decode = is_decode(p.lengths.longest_q, p.group());
    const std::int64_t block = plan.decode ? kDecodeRows : tile.rows;
    std::vector<WorkTile> whole;
    std::int64_t keys = 0;
    const std::int64_t blocks = divide_up(p.lengths.longest_q * p.group(), block);
    // Late rows first: under a causal mask they see the most keys.
    for (std::int64_t i = blocks - 1; i >= 0; --i) {
        for (std::int64_t b = 0; b < p.batch; ++b) {
            const std::int64_t total = p.lengths.q(b) * p.group();
            if (i * block < total) {
                const std::int64_t rows = std::min(block, total - i * block);
                const KeySpan span = span_of_rows(p, b, i * block, rows);
                whole.push_back({b, i * block, rows, span.first, span.last, -1});
                keys += span.last - span.first;
            }
        }
    }
    if (p.lengths.cu_q || p.lengths.cu_k || p.lengths.used_k) {
        // The largest first; equal ones keep their order. (std::stable_sort uses what clang calls
        // deprecated.)
        std::sort(whole.begin(), whole.end(), [](const WorkTile& x, const WorkTile& y) {
            return std::tuple((y.key1 - y.key0) * y.rows, y.row0, x.sequence) <
                   std::tuple((x.key1 - x.key0) * x.rows, x.row0, y.sequence);
        });
    }
    const std::int64_t least = plan.decode ? kDecodeKeys : kPrefillBlocks * tile.keys;
    const std::int64_t target = target_tasks(units);
    // Prefill makes a task of each head. Decode walks memory in the order in which it lies: tokens
    // with all their heads, split by heads only where there are too few keys to split, or heads
    // with all their tokens.
    const bool by_heads = !plan.decode || p.head_major;
    const std::int64_t spread = by_heads ? std::max<std::int64_t>(1, p.heads_kv) : 1;
    const std::int64_t chunk = units == 1
                                   ? std::max<std::int64_t>(keys, 1)
                                   : std::max(least, divide_up(keys * p.copies * spread, target));
    for (const WorkTile& work_tile : whole) {
        split_keys(plan, p, work_tile, chunk);
    }
    const auto work_tiles =
        std::max<std::int64_t>(1, p.copies * static_cast<std::int64_t>(plan.work_tiles.size()));
    plan.head_ranges =
        by_heads ? spread
                 : std::clamp<std::int64_t>(divide_up(units == 1 ? 1 : 2 * units, work_tiles), 1,
                                            std::max<std::int64_t>(1, p.heads_kv));
    return plan;
}

}  // namespace raceline::kernels::cpu_flash

// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_flash/plan.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "workload/row_blocks.hpp"

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

WideBand band_of(const TaskProblem& p, std::int64_t sequence) {
    return {p.lengths.q(sequence), p.lengths.k(sequence), p.window.left, p.window.right};
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

std::int64_t block_rows(const TaskProblem& p, const Tile& tile) {
    return is_decode(p.lengths.longest_q, p.group()) ? kDecodeRows : tile.rows;
}

// Block `block` of a sequence's rows with all keys that it sees.
WorkTile whole_tile(const TaskProblem& p, std::int64_t sequence, std::int64_t block,
                    std::int64_t rows_of_block) {
    const std::int64_t row0 = block * rows_of_block;
    const std::int64_t rows = std::min(rows_of_block, p.lengths.q(sequence) * p.group() - row0);
    const KeySpan span = span_of_rows(p, sequence, row0, rows);
    return {sequence, row0, rows, span.first, span.last, -1};
}

// Prefill makes a task of each head. Decode walks memory in the order in which it lies: tokens with
// all their heads, split by heads only where there are too few keys to split, or heads with all
// their tokens.
bool by_heads(const TaskProblem& p) {
    return !is_decode(p.lengths.longest_q, p.group()) || p.head_major;
}
std::int64_t spread_of(const TaskProblem& p) {
    return by_heads(p) ? std::max<std::int64_t>(1, p.heads_kv) : 1;
}

// Neither is negative; what 62 bits do not hold is as good as endless.
std::int64_t product(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    return b > 0 && a > most / b ? most : a * b;
}

// Keys of a work tile, at most, where all of them have `keys`.
std::int64_t chunk_of(const TaskProblem& p, const Tile& tile, int units, std::int64_t keys) {
    const bool decode = is_decode(p.lengths.longest_q, p.group());
    const std::int64_t least = decode ? kDecodeKeys : kPrefillBlocks * tile.keys;
    const std::int64_t all = product(product(keys, p.copies), spread_of(p));
    return units == 1 ? std::max<std::int64_t>(keys, 1)
                      : std::max(least, divide_up(all, target_tasks(units)));
}

std::int64_t head_ranges_of(const TaskProblem& p, int units, std::int64_t work_tiles) {
    const std::int64_t all = std::max<std::int64_t>(1, p.copies * work_tiles);
    return by_heads(p) ? spread_of(p)
                       : std::clamp<std::int64_t>(divide_up(units == 1 ? 1 : 2 * units, all), 1,
                                                  std::max<std::int64_t>(1, p.heads_kv));
}

// Of very many work tiles some stand for their neighbours; they change slowly from one to the next.
constexpr std::int64_t kCounted = 1024;
// A launch of more row blocks than this is not planned in order to be counted.
constexpr std::int64_t kPlanned = 1 << 16;

std::int64_t row_blocks(const TaskProblem& p, const Tile& tile) {
    std::int64_t blocks = 0;
    for (std::int64_t b = 0; b < p.batch; ++b) {
        blocks += divide_up(p.lengths.q(b) * p.group(), block_rows(p, tile));
    }
    return blocks;
}

CountedPlan counted(const Plan& plan) {
    CountedPlan all{plan.decode, plan.head_ranges, plan.tasks(), {}, {}};
    const auto work_tiles = static_cast<std::int64_t>(plan.work_tiles.size());
    const std::int64_t every = divide_up(work_tiles, kCounted);
    for (std::int64_t i = 0; i < work_tiles; i += every) {
        const std::int64_t here = std::min(every, work_tiles - i);
        all.work_tiles.push_back({plan.work_tiles[static_cast<std::size_t>(i + here / 2)], here});
    }
    for (const Split& split : plan.splits) {
        all.splits.push_back({split, 1});
    }
    return all;
}

// The same without the plan: of the row blocks some stand for their neighbours.
CountedPlan counted_by_samples(const TaskProblem& p, const Tile& tile, int units) {
    std::vector<Counted<WorkTile>> whole;
    std::int64_t keys = 0;
    const std::int64_t rows = block_rows(p, tile);
    const std::int64_t most = std::max<std::int64_t>(1, kCounted / p.batch);
    for (std::int64_t b = 0; b < p.batch; ++b) {
        visit_blocks(band_of(p, b), p.group(), rows, most, [&](auto counted) {
            whole.push_back({whole_tile(p, b, counted.block, rows), counted.times});
            keys += counted.times * (whole.back().of.key1 - whole.back().of.key0);
        });
    }
    const std::int64_t chunk = chunk_of(p, tile, units, keys);
    CountedPlan all{is_decode(p.lengths.longest_q, p.group()), 1, 0, {}, {}};
    for (const auto& [work_tile, times] : whole) {
        Plan of_one;
        split_keys(of_one, p, work_tile, chunk);
        for (const WorkTile& part : of_one.work_tiles) {
            all.work_tiles.push_back({part, times});
            all.tasks += times;
        }
        for (const Split& split : of_one.splits) {
            all.splits.push_back({split, times});
        }
    }
    all.head_ranges = head_ranges_of(p, units, all.tasks);
    all.tasks *= all.head_ranges;
    return all;
}

}  // namespace

TaskProblem task_problem_of(const AttentionArgs& a) {
    TaskProblem p{problem_of(a)};
    p.lengths = {a.cu_seqlens_q, a.cu_seqlens_k, a.seqlens_k, a.seqlen_q, a.seqlen_k};
    p.head_major = a.heads_kv > 1 && a.k.head_stride > a.k.seq_stride;
    return p;
}

KeySpan visible_keys(const TaskProblem& p, std::int64_t sequence, std::int64_t query) {
    const WideBand band = band_of(p, sequence);
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
    const std::int64_t block = block_rows(p, tile);
    std::vector<WorkTile> whole;
    std::int64_t keys = 0;
    const std::int64_t blocks = divide_up(p.lengths.longest_q * p.group(), block);
    // Late rows first: under a causal mask they see the most keys.
    for (std::int64_t i = blocks - 1; i >= 0; --i) {
        for (std::int64_t b = 0; b < p.batch; ++b) {
            if (i * block < p.lengths.q(b) * p.group()) {
                whole.push_back(whole_tile(p, b, i, block));
                keys += whole.back().key1 - whole.back().key0;
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
    const std::int64_t chunk = chunk_of(p, tile, units, keys);
    for (const WorkTile& work_tile : whole) {
        split_keys(plan, p, work_tile, chunk);
    }
    plan.head_ranges = head_ranges_of(p, units, static_cast<std::int64_t>(plan.work_tiles.size()));
    return plan;
}

CountedPlan count_plan(const TaskProblem& p, const Tile& tile, int units) {
    return row_blocks(p, tile) > kPlanned ? counted_by_samples(p, tile, units)
                                          : counted(make_plan(p, tile, units));
}

}  // namespace raceline::kernels::cpu_flash
